// One map enlarged: a row a query, a column a key, its words along both sides; numbers in the cells where there is room.
import { make, percent } from "./build.js";
import { inkOf, inkOn, weightColours } from "./colour.js";
import { CanvasPen, widthOf } from "./pen.js";

const LARGEST = 36, SMALLEST = 6, WITH_NUMBERS = 27;

export class Grid {
  // coloursOf(grid) gives the colours of its weights.
  constructor(host, state, coloursOf = () => weightColours()) {
    this.state = state;
    this.coloursOf = coloursOf;
    this.canvas = make("canvas", { role: "img" });
    this.band = make("div", { class: "band" });
    this.told = make("p", { class: "cell", text: "Point at a cell for its weight." });
    this.frame = make("div", { class: "figure scrolls" }, make("div", { class: "held" }, this.canvas, this.band));
    host.append(this.told, this.frame);
    this.canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.canvas.addEventListener("pointerleave", () => { this.told.textContent = "Point at a cell for its weight."; state.point("query", null); });
    this.canvas.addEventListener("click", (event) => { const cell = this.#at(event); if (cell) state.pin(cell.query); });
  }

  size(width = this.frame.clientWidth) {
    const { keys, queries } = this.state.seen;
    const left = Math.min(Math.max(0, ...queries.map((item) => widthOf(item.shown))) + 10, 150);
    const top = Math.min(Math.max(0, ...keys.map((item) => widthOf(item.shown))) + 12, 170);
    const side = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((width - left - 4) / Math.max(keys.length, 1))));
    return { left, top, side, width: left + side * keys.length + 2, height: top + side * queries.length + 2 };
  }

  draw(pen, { left, top, side }) {
    const { keys, queries, grid } = this.state.seen;
    if (!grid) return;
    const ink = inkOf("ink"), size = Math.min(13, Math.max(side - 1, 7));
    pen.cells(left, top, side * grid.columns, side * grid.rows, grid, this.coloursOf(grid));
    keys.forEach((key, place) => pen.text(left + side * (place + 0.5), top - 6, key.shown, { colour: ink, size, turned: true }));
    queries.forEach((query, place) => pen.text(left - 6, top + side * (place + 0.5), query.shown, { colour: ink, size, align: "right" }));
    if (side < WITH_NUMBERS) return;
    grid.values.forEach((weight, place) => {
      if (weight < 0.005) return;
      const x = left + side * ((place % grid.columns) + 0.5), y = top + side * (Math.floor(place / grid.columns) + 0.5);
      pen.text(x, y, String(Math.round(100 * weight)), { colour: inkOn(weight), size: 10, align: "center" });
    });
  }

  show() {
    this.shown = this.size();
    this.draw(new CanvasPen(this.canvas, this.shown.width, this.shown.height), this.shown);
    const { queries, keys } = this.state.seen;
    this.canvas.setAttribute("aria-label", `map of weights, ${queries.length} words that look by ${keys.length} words looked at`);
    this.light();
  }

  light() {
    const { pointed } = this.state;
    const { left, top, side, width, height } = this.shown;
    this.band.hidden = !pointed;
    if (!pointed) return;
    const across = pointed.side === "query";
    this.band.style.left = `${across ? 0 : left + side * pointed.place}px`;
    this.band.style.top = `${across ? top + side * pointed.place : 0}px`;
    this.band.style.width = `${across ? width : side}px`;
    this.band.style.height = `${across ? side : height}px`;
  }

  #at(event) {
    const { left, top, side } = this.shown, { grid } = this.state.seen;
    const key = Math.floor((event.offsetX - left) / side), query = Math.floor((event.offsetY - top) / side);
    return grid && key >= 0 && query >= 0 && key < grid.columns && query < grid.rows ? { key, query } : null;
  }

  #point(event) {
    const cell = this.#at(event), { queries, keys, grid } = this.state.seen;
    if (!cell) return;
    const weight = grid.values[cell.query * grid.columns + cell.key];
    this.told.textContent = `${queries[cell.query].shown} → ${keys[cell.key].shown}: ${percent(weight, 2)}`;
    this.state.point("query", cell.query);
  }
}
