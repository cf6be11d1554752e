// One map enlarged: a row per query, a column per key, words on both sides, numbers in cells that have room.
import { styleOf, inkOn, weightColours } from "./colour.js";
import { make } from "./elements.js";
import { percent } from "./formats.js";
import { Panel } from "./panel.js";
import { CanvasRenderer, widestOf } from "./renderers.js";
import { say } from "./texts.js";

const LARGEST = 36, SMALLEST = 6, WITH_NUMBERS = 27; // pixels of a cell's side

export class WeightMap extends Panel {
  // coloursOf(matrix) gives the colours of its weights.
  constructor(host, state, coloursOf = () => weightColours()) {
    super(host, state, "weight-map");
    this.coloursOf = coloursOf;
    this.canvas = make("canvas", { role: "img" });
    this.band = make("div", { class: "band" });
    this.readout = make("p", { class: "readout" });
    this.figure = make("div", { class: "figure scrolls" }, make("div", { class: "banded" }, this.canvas, this.band));
    this.host.append(this.readout, this.figure);
    this.canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.canvas.addEventListener("pointerleave", () => {
      this.readout.textContent = hint();
      state.point("query", null);
    });
    this.canvas.addEventListener("click", (event) => {
      const cell = this.#at(event);
      if (cell) state.pin(cell.query);
    });
  }

  size(width = this.figure.clientWidth) {
    const { keys, queries } = this.state.selection;
    const left = Math.min(widestOf(queries.map((item) => item.shown)) + 10, 150);
    const top = Math.min(widestOf(keys.map((item) => item.shown)) + 12, 170);
    const side = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((width - left - 4) / Math.max(keys.length, 1))));
    return { left, top, side, width: left + side * keys.length + 2, height: top + side * queries.length + 2 };
  }

  draw(renderer, { left, top, side }) {
    const { keys, queries, matrix } = this.state.selection;
    if (!matrix) return;
    const label = { colour: styleOf("ink"), size: Math.min(13, Math.max(side - 1, 7)) };
    renderer.cells(left, top, side * matrix.columns, side * matrix.rows, matrix, this.coloursOf(matrix));
    keys.forEach(({ shown }, place) => {
      renderer.text(left + side * (place + 0.5), top - 6, shown, { ...label, turned: true });
    });
    queries.forEach(({ shown }, place) => {
      renderer.text(left - 6, top + side * (place + 0.5), shown, { ...label, align: "right" });
    });
    if (side < WITH_NUMBERS) return;
    matrix.values.forEach((weight, place) => {
      if (weight < 0.005) return;
      const x = left + side * ((place % matrix.columns) + 0.5);
      const y = top + side * (Math.floor(place / matrix.columns) + 0.5);
      renderer.text(x, y, String(Math.round(100 * weight)), { colour: inkOn(weight), size: 10, align: "center" });
    });
  }

  show() {
    this.shown = this.size();
    this.draw(new CanvasRenderer(this.canvas, this.shown.width, this.shown.height), this.shown);
    const { queries, keys } = this.state.selection;
    const values = { queries: queries.length, keys: keys.length };
    this.canvas.setAttribute("aria-label", say("map of weights, {queries} queries by {keys} keys", values));
    this.readout.textContent = hint();
    this.light();
  }

  light() {
    const { pointed } = this.state;
    const { left, top, side, width, height } = this.shown;
    this.band.hidden = !pointed;
    if (!pointed) return;
    const isRow = pointed.side === "query";
    this.band.style.left = `${isRow ? 0 : left + side * pointed.place}px`;
    this.band.style.top = `${isRow ? top + side * pointed.place : 0}px`;
    this.band.style.width = `${isRow ? width : side}px`;
    this.band.style.height = `${isRow ? side : height}px`;
  }

  #at(event) {
    const { left, top, side } = this.shown, { matrix } = this.state.selection;
    const key = Math.floor((event.offsetX - left) / side), query = Math.floor((event.offsetY - top) / side);
    const isInside = matrix && key >= 0 && query >= 0 && key < matrix.columns && query < matrix.rows;
    return isInside ? { key, query } : null;
  }

  #point(event) {
    const cell = this.#at(event), { queries, keys, matrix } = this.state.selection;
    if (!cell) return;
    const weight = matrix.values[cell.query * matrix.columns + cell.key];
    this.readout.textContent = `${queries[cell.query].shown} → ${keys[cell.key].shown}: ${percent(weight, 2)}`;
    this.state.point("query", cell.query);
  }
}

function hint() {
  return say("Point at a cell for its weight.");
}
