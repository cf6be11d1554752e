// A figure as a file: PNG at twice its size, or SVG.
import { styleOf } from "./colour.js";
import { make } from "./elements.js";
import { CanvasRenderer, SvgRenderer } from "./renderers.js";
import { say } from "./texts.js";

const WIDTH = 900, MARGIN = 16;

// Buttons that save a figure; chosen() gives the figure and the file's name without its ending.
export function saveButtons(id, chosen) {
  const labels = { png: say("save as PNG"), svg: say("save as SVG") };
  const buttons = Object.entries(labels).map(([kind, label]) => make("button", {
    id: `${id}-${kind}`, class: "plain-button", text: kind.toUpperCase(), onclick: () => save(kind, ...chosen()),
    "aria-label": label, "data-say-label": `save as ${kind.toUpperCase()}`,
  }));
  return make("div", { id: `${id}-buttons`, class: "save-buttons" }, ...buttons);
}

function save(kind, figure, name) {
  const size = figure.size(WIDTH), width = size.width + 2 * MARGIN, height = size.height + 2 * MARGIN;
  if (kind === "svg") {
    const renderer = new SvgRenderer(width, height);
    drawInside(renderer, figure, size, width, height);
    const address = URL.createObjectURL(new Blob([renderer.toString()], { type: "image/svg+xml" }));
    download(address, `${name}.svg`);
    setTimeout(() => URL.revokeObjectURL(address), 60000); // a busy browser may take seconds to begin
    return;
  }
  const canvas = document.createElement("canvas");
  drawInside(new CanvasRenderer(canvas, width, height, 2), figure, size, width, height);
  download(canvas.toDataURL("image/png"), `${name}.png`); // at once; toBlob waits until a busy browser is idle
}

function drawInside(renderer, figure, size, width, height) {
  renderer.rectangle(0, 0, width, height, styleOf("paper"));
  figure.draw(shifted(renderer, MARGIN), size);
}

// The same renderer with its corner moved in.
function shifted(renderer, by) {
  return {
    rectangle: (x, y, ...rest) => renderer.rectangle(x + by, y + by, ...rest),
    curve: (x1, y1, x2, y2, look) => renderer.curve(x1 + by, y1 + by, x2 + by, y2 + by, look),
    text: (x, y, ...rest) => renderer.text(x + by, y + by, ...rest),
    image: (x, y, ...rest) => renderer.image(x + by, y + by, ...rest),
    cells: (x, y, ...rest) => renderer.cells(x + by, y + by, ...rest),
  };
}

function download(address, name) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}
