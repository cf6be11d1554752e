// The image with its patches over it. Pointing at one lights up the others by weight; arrow keys walk, Enter pins.
import { css, inkOn, weightColours } from "./colour.js";
import { make } from "./elements.js";
import { percent } from "./formats.js";
import { overlayColours, rgba } from "./overlay.js";
import { gridOf, nameOf, sharesOf } from "./patch_grid.js";
import { say } from "./texts.js";
import { listenToPlaces } from "./walking.js";

const SMALL = 100; // pixels of a side below which an image is shown pixel by pixel
const SAVED = 480; // pixels of the longer side in a file

export class Patches {
  // point(place or null) and pin(place or null) are told what the viewer does.
  constructor(host, { point, pin }) {
    this.tokens = make("div", { class: "tokens", role: "row" });
    this.image = make("img", { alt: "", draggable: "false" });
    this.cells = make("div", { class: "cells", role: "rowgroup" });
    this.figure = make("div", { class: "image", role: "presentation" }, this.image, this.cells);
    this.root = make("div", { class: "patches", role: "grid" }, this.tokens, this.figure);
    host.append(this.root);
    this.root.addEventListener("pointerleave", () => point(null));
    listenToPlaces(this.root, {
      places: () => this.places, point, pin, goalOf: (key, place) => this.#goalOf(key, place),
    });
  }

  show(selection) {
    const { run, keys, matrix } = selection;
    this.selection = selection;
    this.places = [];
    if (run.image && this.image.src !== run.image) this.image.src = run.image;
    this.image.hidden = !run.image;
    this.image.classList.toggle("small", Math.max(run.width, run.height) < SMALL);
    this.figure.style.aspectRatio = `${run.width} / ${run.height}`;
    this.cells.hidden = !matrix;
    this.grid = matrix ? gridOf(selection) : { rows: 0, columns: 0, special: 0 };
    const { rows, columns, special } = this.grid;
    this.root.setAttribute("aria-label", matrix
      ? say("the image in {rows} × {columns} patches", { rows, columns }) : say("the image"));
    this.tokens.hidden = !special;
    this.tokens.replaceChildren(...keys.slice(0, special).map((_, place) => (
      this.#place(place, make("span", { text: say("class token") }), make("small", { "aria-hidden": "true" })))));
    this.cells.style.gridTemplate = `repeat(${rows}, 1fr) / repeat(${columns}, 1fr)`;
    this.cells.replaceChildren(...Array.from({ length: rows }, (_, row) => {
      const cells = Array.from({ length: columns }, (_, column) => this.#place(special + row * columns + column));
      return make("div", { role: "row" }, ...cells);
    }));
  }

  #place(place, ...inside) {
    const made = make("span", {
      class: inside.length ? "patch token" : "patch", role: "gridcell", tabindex: place ? -1 : 0, "data-place": place,
      "aria-label": nameOf(this.selection.keys[place].label), "aria-selected": "false",
    }, ...inside);
    this.places[place] = made;
    return made;
  }

  // From the class token one walks down into the image; from its first row back up. The grid's edges hold.
  #goalOf(key, place) {
    const { columns, special } = this.grid, last = this.places.length - 1, cell = place - special, isToken = cell < 0;
    const goal = {
      ArrowRight: place + 1,
      ArrowLeft: place - 1,
      ArrowUp: isToken ? place : cell < columns && special ? 0 : place - columns,
      ArrowDown: isToken ? special : place + columns,
      Home: isToken ? place : place - (cell % columns),
      End: isToken ? place : place - (cell % columns) + columns - 1,
    }[key];
    return goal < 0 || goal > last ? place : goal;
  }

  focus(place) {
    this.places[place]?.focus();
  }

  // Light up places by their weights; overlay: "light" or "heat".
  light(weights, { pointed, pinned, overlay }) {
    if (!this.selection.matrix) return;
    const { special } = this.grid, { values } = sharesOf(weights, this.grid);
    const coverOf = overlayColours(overlay), colours = weightColours();
    this.places.forEach((element, place) => {
      element.dataset.weight = weights[place];
      element.classList.toggle("pointed", place === pointed);
      element.classList.toggle("pinned", place === pinned);
      element.setAttribute("aria-selected", String(place === pinned));
      if (place >= special) {
        element.style.background = rgba(coverOf(values[place - special]));
        return;
      }
      element.style.background = weights[place] > 0 ? css(colours(weights[place])) : "";
      element.style.color = inkOn(weights[place]);
      element.lastChild.textContent = percent(weights[place]);
    });
    this.lit = { values, coverOf };
  }

  size() {
    const { width, height } = this.selection.run, longest = Math.max(width, height);
    return { width: (SAVED * width) / longest, height: (SAVED * height) / longest };
  }

  // The same for files.
  draw(renderer, { width, height }) {
    const { rows, columns } = this.grid, across = width / columns, down = height / rows;
    if (this.selection.run.image) renderer.image(0, 0, width, height, this.image);
    this.lit?.values.forEach((share, cell) => {
      const x = (cell % columns) * across, y = Math.floor(cell / columns) * down;
      renderer.rectangle(x, y, across, down, rgba(this.lit.coverOf(share)));
    });
  }
}
