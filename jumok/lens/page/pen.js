// One drawing, two papers: a canvas for the screen and PNG files, SVG for files that can be scaled.
import { css } from "./colour.js";

const FONT = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK KR", "Noto Sans KR", "Malgun Gothic", sans-serif';

export class CanvasPen {
  constructor(canvas, width, height, ratio = Math.max(1, devicePixelRatio || 1)) {
    canvas.width = Math.max(1, Math.ceil(width * ratio));
    canvas.height = Math.max(1, Math.ceil(height * ratio));
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    this.context = canvas.getContext("2d");
    this.context.scale(ratio, ratio);
  }

  clear() {
    const { canvas } = this.context;
    this.context.clearRect(0, 0, canvas.width, canvas.height);
  }

  rectangle(x, y, width, height, colour) {
    this.context.fillStyle = colour;
    this.context.fillRect(x, y, width, height);
  }

  curve(x1, y1, x2, y2, { colour, alpha, thickness }) {
    const { context } = this, middle = (x1 + x2) / 2;
    context.globalAlpha = alpha;
    context.strokeStyle = colour;
    context.lineWidth = thickness;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(middle, y1, middle, y2, x2, y2);
    context.stroke();
    context.globalAlpha = 1;
  }

  text(x, y, words, { colour, align = "left", size = 13, turned = false, weight = 400 }) {
    const { context } = this;
    context.save();
    context.translate(x, y);
    if (turned) context.rotate(-Math.PI / 2);
    context.font = `${weight} ${size}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillStyle = colour;
    context.fillText(words, 0, 0);
    context.restore();
  }

  image(x, y, width, height, image) {
    this.context.imageSmoothingEnabled = image.naturalWidth > width;
    this.context.drawImage(image, x, y, width, height);
  }

  // Cells of a grid, each coloured by its value.
  cells(x, y, width, height, grid, colourOf) {
    const { context } = this;
    context.imageSmoothingEnabled = false;
    context.drawImage(pixels(grid, colourOf), x, y, width, height);
  }
}

export class SvgPen {
  constructor(width, height) {
    this.head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${FONT.replaceAll('"', "'")}">`;
    this.parts = [];
  }

  rectangle(x, y, width, height, colour) {
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${colour}"/>`);
  }

  curve(x1, y1, x2, y2, { colour, alpha, thickness }) {
    const middle = short((x1 + x2) / 2);
    const path = `M${short(x1)} ${short(y1)}C${middle} ${short(y1)} ${middle} ${short(y2)} ${short(x2)} ${short(y2)}`;
    this.parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-opacity="${short(alpha)}" stroke-width="${short(thickness)}"/>`);
  }

  text(x, y, words, { colour, align = "left", size = 13, turned = false, weight = 400 }) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const turn = turned ? ` transform="rotate(-90 ${short(x)} ${short(y)})"` : "";
    const safe = words.replace(/[&<>]/g, (letter) => `&#${letter.charCodeAt(0)};`);
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" font-size="${size}" font-weight="${weight}" fill="${colour}" text-anchor="${anchor}" dominant-baseline="central"${turn}>${safe}</text>`);
  }

  image(x, y, width, height, image) {
    this.parts.push(`<image x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:${image.src.slice(5)}"/>`); // an image is always inside the page
  }

  cells(x, y, width, height, grid, colourOf) {
    const across = width / grid.columns, down = height / grid.rows;
    this.rectangle(x, y, width, height, css(colourOf(0)));
    grid.values.forEach((value, place) => {
      const colour = css(colourOf(value));
      if (colour === css(colourOf(0))) return;
      this.rectangle(x + (place % grid.columns) * across, y + Math.floor(place / grid.columns) * down, across, down, colour);
    });
  }

  toString() {
    return `${this.head}${this.parts.join("")}</svg>`;
  }
}

export function pixels(grid, colourOf, canvas = document.createElement("canvas")) {
  if (!grid.values.length) return canvas;
  canvas.width = grid.columns;
  canvas.height = grid.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(grid.columns, grid.rows);
  for (let place = 0; place < grid.values.length; place++) {
    const colour = colourOf(grid.values[place]);
    image.data[4 * place] = colour[0];
    image.data[4 * place + 1] = colour[1];
    image.data[4 * place + 2] = colour[2];
    image.data[4 * place + 3] = Math.round(255 * (colour[3] ?? 1));
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

const ruler = document.createElement("canvas").getContext("2d");

export function widthOf(words, size = 13) {
  ruler.font = `400 ${size}px ${FONT}`;
  return ruler.measureText(words).width;
}

function short(value) {
  return Math.round(value * 100) / 100;
}
