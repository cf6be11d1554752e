// The model's own table of positions as a heat map: a row a place, a column a feature.
import { decimal, make } from "./build.js";
import { inkOf, signedColours } from "./colour.js";
import { CanvasPen, widthOf } from "./pen.js";
import { spaced } from "./record.js";

const KINDS = {
  sinusoidal: "sinusoids, sine and cosine interleaved: the first pair of features has the shortest wave",
  "sinusoidal-halves": "sinusoids, first all sines, then all cosines",
  "sinusoidal-grid": "sinusoids: half of the features say the row, half the column",
  learned: "a learned table",
  index: "the number of the place itself",
};

export class Positions {
  constructor(host, state) {
    this.state = state;
    this.host = make("div", { class: "positions" });
    host.append(this.host);
  }

  show() {
    const { positions } = this.state.run;
    this.tables = positions.map((one) => ({ ...one, labels: one.labels.map(spaced) }));
    if (!positions.length) {
      this.host.replaceChildren(make("p", { class: "note", text: "This record has no table of positions: the model has none, or it was made without details." }));
      return;
    }
    this.host.replaceChildren(...this.tables.flatMap((one) => this.#figure(one)));
    this.tables.forEach((one, number) => {
      const size = this.#sizeOf(one), canvas = this.host.querySelectorAll("canvas")[number];
      this.#drawOne(new CanvasPen(canvas, size.width, size.height), one, size, 0);
    });
  }

  size() {
    const sizes = this.tables.map((one) => this.#sizeOf(one));
    return { width: Math.max(1, ...sizes.map((size) => size.width)), height: sizes.reduce((sum, size) => sum + size.height + 12, 0) };
  }

  draw(pen) {
    let top = 0;
    for (const one of this.tables) {
      this.#drawOne(pen, one, this.#sizeOf(one), top);
      top += this.#sizeOf(one).height + 12;
    }
  }

  light() {}

  #sizeOf({ labels, table }) {
    const left = Math.max(...labels.map((label) => widthOf(label, 12))) + 40, [rows, columns] = table.shape;
    const across = Math.max(3, Math.min(24, Math.floor((Math.max(this.host.clientWidth, 300) - left - 4) / columns)));
    return { left, across, width: left + across * columns, height: 16 * rows };
  }

  #drawOne(pen, { labels, table }, { left, across }, top) {
    const [rows, columns] = table.shape, colour = inkOf("ink");
    const largest = table.values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    pen.cells(left, top, across * columns, 16 * rows, { rows, columns, values: table.values }, signedColours(largest));
    labels.forEach((label, place) => pen.text(left - 6, top + 16 * (place + 0.5), `${label}  ${place}`, { colour, size: 12, align: "right" }));
  }

  #figure(one) {
    const told = make("p", { class: "cell", text: "Point at a cell for its number." });
    const canvas = make("canvas", { role: "img", "aria-label": `heat map of ${one.path}` });
    canvas.addEventListener("pointermove", (event) => {
      const { left, across } = this.#sizeOf(one), [rows, columns] = one.table.shape;
      const row = Math.floor(event.offsetY / 16), column = Math.floor((event.offsetX - left) / across);
      if (column < 0 || column >= columns || row >= rows) return;
      told.textContent = `place ${row} (${one.labels[row]}), feature ${column}: ${decimal(one.table.values[row * columns + column], 4)}`;
    });
    return [make("h3", { text: one.path }), make("p", { class: "why", text: `${KINDS[one.kind] ?? one.kind}; ${one.join === "add" ? "added to" : "put beside"} the embedding` }), told,
      make("div", { class: "figure scrolls" }, canvas)];
  }
}
