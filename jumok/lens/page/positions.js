// The model's own table of positions as a heat map: a row per position, a column per feature.
import { styleOf, signedColours } from "./colour.js";
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { Panel } from "./panel.js";
import { spaced } from "./record.js";
import { CanvasRenderer, widestOf } from "./renderers.js";

const ROW = 16, BETWEEN = 12; // pixels: a row, the space between two tables in a file
const KINDS = {
  sinusoidal: "sinusoids, sine and cosine interleaved: the first pair of features has the shortest wave",
  "sinusoidal-halves": "sinusoids, first all sines, then all cosines",
  "sinusoidal-grid": "sinusoids: half of the features say the row, half the column",
  learned: "a learned table",
  index: "the number of the position itself",
};

export class Positions extends Panel {
  constructor(host, state) {
    super(host, state, "positions");
  }

  show() {
    const { positions } = this.state.run;
    this.tables = positions.map((one) => ({ ...one, labels: one.labels.map(spaced) }));
    if (!positions.length) {
      this.showNote("This record has no table of positions: the model has none, or it was made without details.");
      return;
    }
    this.host.replaceChildren(...this.tables.flatMap((one) => this.#figure(one)));
    const canvases = this.host.querySelectorAll("canvas");
    this.tables.forEach((one, number) => {
      const size = this.#sizeOf(one);
      this.#drawOne(new CanvasRenderer(canvases[number], size.width, size.height), one, size, 0);
    });
  }

  size() {
    const sizes = this.tables.map((one) => this.#sizeOf(one));
    const height = sizes.reduce((sum, size) => sum + size.height + BETWEEN, 0);
    return { width: Math.max(1, ...sizes.map((size) => size.width)), height };
  }

  draw(renderer) {
    let top = 0;
    for (const one of this.tables) {
      const size = this.#sizeOf(one);
      this.#drawOne(renderer, one, size, top);
      top += size.height + BETWEEN;
    }
  }

  #sizeOf({ labels, table }) {
    const left = widestOf(labels, 12) + 40, [rows, columns] = table.shape;
    const across = Math.floor((Math.max(this.host.clientWidth, 300) - left - 4) / columns);
    const side = Math.max(3, Math.min(24, across));
    return { left, across: side, width: left + side * columns, height: ROW * rows };
  }

  #drawOne(renderer, { labels, table }, { left, across }, top) {
    const [rows, columns] = table.shape, { values } = table;
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    renderer.cells(left, top, across * columns, ROW * rows, { rows, columns, values }, signedColours(largest));
    const look = { colour: styleOf("ink"), size: 12, align: "right" };
    labels.forEach((label, place) => {
      renderer.text(left - 6, top + ROW * (place + 0.5), `${label}  ${place}`, look);
    });
  }

  #figure(one) {
    const { path, kind, join, labels, table } = one, [rows, columns] = table.shape;
    const readout = make("p", { class: "readout", text: "Point at a cell for its number." });
    const canvas = make("canvas", { role: "img", "aria-label": `heat map of ${path}` });
    canvas.addEventListener("pointermove", (event) => {
      const { left, across } = this.#sizeOf(one);
      const row = Math.floor(event.offsetY / ROW), column = Math.floor((event.offsetX - left) / across);
      if (column < 0 || column >= columns || row >= rows) return;
      const number = decimal(table.values[row * columns + column], 4);
      readout.textContent = `position ${row} (${labels[row]}), feature ${column}: ${number}`;
    });
    const text = `${KINDS[kind] ?? kind}; ${join === "add" ? "added to" : "concatenated with"} the embedding`;
    return [make("h3", { text: path }), make("p", { class: "remark", text }), readout,
      make("div", { class: "figure scrolls" }, canvas)];
  }
}
