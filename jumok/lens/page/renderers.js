// One drawing, two renderers: a canvas for the screen and PNG files, SVG for files that can be scaled.
import { css, styleOf } from "./colour.js";
import { make } from "./elements.js";

const FONT = styleOf("font").replace(/\s+/g, " ");

export class CanvasRenderer {
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
    this.context.imageSmoothingEnabled = isDrawn(image) || image.naturalWidth > width;
    this.context.drawImage(image, x, y, width, height);
  }

  // Cells of a matrix, each coloured by its value.
  cells(x, y, width, height, matrix, colourOf) {
    const { context } = this;
    context.imageSmoothingEnabled = false;
    context.drawImage(pixels(matrix, colourOf), x, y, width, height);
  }
}

export class SvgRenderer {
  constructor(width, height) {
    const size = { viewBox: `0 0 ${width} ${height}`, width, height };
    const root = { xmlns: "http://www.w3.org/2000/svg", ...size, "font-family": FONT.replaceAll('"', "'") };
    this.head = `<svg ${attributes(root)}>`;
    this.elements = [];
  }

  rectangle(x, y, width, height, colour) {
    this.elements.push(`<rect ${attributes({ x, y, width, height, fill: colour })}/>`);
  }

  curve(x1, y1, x2, y2, { colour, alpha, thickness }) {
    const [left, top, right, bottom, middle] = [x1, y1, x2, y2, (x1 + x2) / 2].map(short);
    const d = `M${left} ${top}C${middle} ${top} ${middle} ${bottom} ${right} ${bottom}`;
    const stroke = { stroke: colour, "stroke-opacity": alpha, "stroke-width": thickness };
    this.elements.push(`<path ${attributes({ d, fill: "none", ...stroke })}/>`);
  }

  text(x, y, words, { colour, align = "left", size = 13, turned = false, weight = 400 }) {
    const look = { "font-size": size, "font-weight": weight, fill: colour };
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const turn = turned ? { transform: `rotate(-90 ${short(x)} ${short(y)})` } : {};
    const own = attributes({ x, y, ...look, "text-anchor": anchor, "dominant-baseline": "central", ...turn });
    const safe = words.replace(/[&<>]/g, (letter) => `&#${letter.charCodeAt(0)};`);
    this.elements.push(`<text ${own}>${safe}</text>`);
  }

  // The image is always inside the page: its address is data. A canvas is smooth.
  image(x, y, width, height, image) {
    const fit = { preserveAspectRatio: "none", style: isDrawn(image) ? "" : "image-rendering:pixelated" };
    const href = isDrawn(image) ? image.toDataURL() : `data:${image.src.slice(5)}`;
    this.elements.push(`<image ${attributes({ x, y, width, height, ...fit, href })}/>`);
  }

  cells(x, y, width, height, matrix, colourOf) {
    const across = width / matrix.columns, down = height / matrix.rows, empty = css(colourOf(0));
    this.rectangle(x, y, width, height, empty);
    matrix.values.forEach((value, place) => {
      const colour = css(colourOf(value)), row = Math.floor(place / matrix.columns), column = place % matrix.columns;
      if (colour !== empty) this.rectangle(x + column * across, y + row * down, across, down, colour);
    });
  }

  toString() {
    return `${this.head}${this.elements.join("")}</svg>`;
  }
}

// A canvas with a pixel for each cell of a matrix.
export function pixels(matrix, colourOf, canvas = make("canvas")) {
  if (!matrix.values.length) return canvas;
  canvas.width = matrix.columns;
  canvas.height = matrix.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(matrix.columns, matrix.rows);
  for (let place = 0; place < matrix.values.length; place++) {
    const colour = colourOf(matrix.values[place]);
    image.data[4 * place] = colour[0];
    image.data[4 * place + 1] = colour[1];
    image.data[4 * place + 2] = colour[2];
    image.data[4 * place + 3] = Math.round(255 * (colour[3] ?? 1));
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function isDrawn(image) {
  return image instanceof HTMLCanvasElement;
}

const ruler = make("canvas").getContext("2d");

// The width of the widest of some texts, in pixels.
export function widestOf(texts, size = 13) {
  ruler.font = `400 ${size}px ${FONT}`;
  return Math.max(0, ...texts.map((text) => ruler.measureText(text).width));
}

function attributes(values) {
  const write = (value) => (typeof value === "number" ? short(value) : value);
  return Object.entries(values).map(([name, value]) => `${name}="${write(value)}"`).join(" ");
}

function short(value) {
  return Math.round(value * 100) / 100;
}
