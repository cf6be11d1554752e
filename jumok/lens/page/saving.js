// A figure as a file: PNG at twice its size, or SVG.
import { inkOf } from "./colour.js";
import { CanvasPen, SvgPen } from "./pen.js";

export function save(figure, kind, name) {
  const size = figure.size(900), margin = 16;
  const width = size.width + 2 * margin, height = size.height + 2 * margin;
  if (kind === "svg") {
    const pen = new SvgPen(width, height);
    fill(pen, figure, size, margin, width, height);
    const address = URL.createObjectURL(new Blob([pen.toString()], { type: "image/svg+xml" }));
    download(address, `${name}.svg`);
    setTimeout(() => URL.revokeObjectURL(address), 60000); // a busy browser may take seconds to begin
    return;
  }
  const canvas = document.createElement("canvas");
  const pen = new CanvasPen(canvas, width, height, 2);
  fill(pen, figure, size, margin, width, height);
  download(canvas.toDataURL("image/png"), `${name}.png`); // at once; toBlob waits until a busy browser is idle
}

function fill(pen, figure, size, margin, width, height) {
  pen.rectangle(0, 0, width, height, inkOf("paper"));
  figure.draw(shifted(pen, margin), size);
}

// The same pen with its corner moved in.
function shifted(pen, by) {
  return {
    rectangle: (x, y, ...rest) => pen.rectangle(x + by, y + by, ...rest),
    curve: (x1, y1, x2, y2, look) => pen.curve(x1 + by, y1 + by, x2 + by, y2 + by, look),
    text: (x, y, ...rest) => pen.text(x + by, y + by, ...rest),
    image: (x, y, ...rest) => pen.image(x + by, y + by, ...rest),
    cells: (x, y, ...rest) => pen.cells(x + by, y + by, ...rest),
  };
}

function download(address, name) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}
