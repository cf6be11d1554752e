// The whole map: a row for each token that looks, a column for each that is looked at; of variables, with names.
import { inkOn, signedColours, styleOf, weightColours } from "./colour.js";
import { make } from "./elements.js";
import { isOcclusion, labelOf, largestSize, numberIn } from "./forecast_time.js";
import { percent } from "./formats.js";
import { Panel } from "./panel.js";
import { CanvasRenderer, widestOf } from "./renderers.js";
import { say } from "./texts.js";

const LARGEST = 44, WITH_NUMBERS = 30, TALLEST = 460, LABEL = 13; // pixels: of a cell, of the map, of a line of text

export class ForecastMap extends Panel {
  // point(side, place or null) and pin(side, place) are told what the viewer does; token() is what is pointed at.
  constructor(host, state, { point, pin, token }) {
    super(host, state, "weight-map");
    Object.assign(this, { token });
    this.canvas = make("canvas", { role: "img" });
    this.band = make("div", { class: "band" });
    this.readout = make("p", { class: "readout" });
    this.figure = make("div", { class: "figure scrolls" }, make("div", { class: "banded" }, this.canvas, this.band));
    this.host.append(this.readout, this.figure);
    this.canvas.addEventListener("pointermove", (event) => {
      const cell = this.#at(event);
      if (!cell) return;
      point("query", cell.row);
      this.readout.textContent = this.#told(cell);
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.readout.textContent = hint();
      point("query", null);
    });
    this.canvas.addEventListener("click", (event) => {
      const cell = this.#at(event);
      if (cell) pin("query", cell.row);
    });
  }

  size(width = this.figure.clientWidth || 640) {
    const { matrix, querySide, keySide } = this.state.selection;
    if (!matrix) return { left: 0, top: 0, across: 0, down: 0, width: 1, height: 1 };
    const named = (side) => widestOf(side.labels.map((_, place) => labelOf(side, place)));
    const left = Math.min(named(querySide) + 10, 190), top = Math.min(named(keySide) + 12, 150);
    const across = Math.min(LARGEST, (width - left - 4) / matrix.columns);
    const down = Math.min(LARGEST, Math.max(across, 2), Math.max(TALLEST / matrix.rows, 1));
    const [wide, tall] = [across * matrix.columns, down * matrix.rows];
    return { left, top, across, down, width: left + wide + 2, height: top + tall + 2 };
  }

  draw(renderer, { left, top, across, down }) {
    const { matrix, querySide, keySide } = this.state.selection, isChange = isOcclusion(this.state.selection);
    if (!matrix) return;
    const most = largestSize(matrix.values), signed = signedColours(most), colours = weightColours();
    const share = (weight) => (most ? weight / most : 0), label = { colour: styleOf("ink"), size: 12 };
    const colourOf = isChange ? signed : (weight) => colours(share(weight) ** 2); // in proportion: neighbours differ
    renderer.cells(left, top, across * matrix.columns, down * matrix.rows, matrix, colourOf);
    const every = (length) => Math.max(1, Math.ceil(LABEL / length)); // labels that do not stand over each other
    keySide.labels.forEach((_, place) => {
      if (place % every(across)) return;
      renderer.text(left + across * (place + 0.5), top - 6, labelOf(keySide, place), { ...label, turned: true });
    });
    querySide.labels.forEach((_, place) => {
      if (place % every(down)) return;
      renderer.text(left - 6, top + down * (place + 0.5), labelOf(querySide, place), { ...label, align: "right" });
    });
    if (isChange || Math.min(across, down) < WITH_NUMBERS) return;
    matrix.values.forEach((weight, place) => {
      const x = left + across * ((place % matrix.columns) + 0.5), row = Math.floor(place / matrix.columns);
      const look = { colour: inkOn(share(weight) ** 2), size: 11, align: "center" };
      renderer.text(x, top + down * (row + 0.5), String(Math.round(100 * weight)), look);
    });
  }

  show() {
    const { matrix } = this.state.selection;
    this.shown = this.size();
    this.draw(new CanvasRenderer(this.canvas, this.shown.width, this.shown.height), this.shown);
    const values = { queries: matrix?.rows ?? 0, keys: matrix?.columns ?? 0 };
    this.canvas.setAttribute("aria-label", say("map of weights, {queries} queries by {keys} keys", values));
    this.readout.textContent = hint();
    this.light();
  }

  light() {
    const token = this.token(), { left, top, across, down, width, height } = this.shown;
    this.band.hidden = !token;
    if (!token) return;
    const isRow = token.side === "query";
    this.band.style.left = `${isRow ? 0 : left + across * token.place}px`;
    this.band.style.top = `${isRow ? top + down * token.place : 0}px`;
    this.band.style.width = `${isRow ? width : across}px`;
    this.band.style.height = `${isRow ? down : height}px`;
  }

  #at(event) {
    const { left, top, across, down } = this.shown, { matrix } = this.state.selection;
    const column = Math.floor((event.offsetX - left) / across), row = Math.floor((event.offsetY - top) / down);
    const isInside = matrix && column >= 0 && row >= 0 && column < matrix.columns && row < matrix.rows;
    return isInside ? { row, column } : null;
  }

  #told({ row, column }) {
    const { matrix, querySide, keySide } = this.state.selection, value = matrix.values[row * matrix.columns + column];
    const told = isOcclusion(this.state.selection) ? numberIn(value, largestSize(matrix.values)) : percent(value, 2);
    return `${labelOf(querySide, row)} → ${labelOf(keySide, column)}: ${told}`;
  }
}

function hint() {
  return say("Point at a cell for its weight.");
}
