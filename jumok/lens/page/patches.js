// The image with its cells over it. Pointing at one lights up the others by weight; arrow keys walk, Enter pins.
import { make, percent } from "./build.js";
import { css, inkOn, weightColours } from "./colour.js";
import { covers, rgba } from "./cover.js";
import { layoutOf, nameOf, sharesOf } from "./places.js";

const SMALL = 100; // pixels a side below which an image is shown pixel by pixel

export class Patches {
  // tell.point(place or null) and tell.pin(place) hear of what the viewer does.
  constructor(host, tell) {
    this.tell = tell;
    this.tokens = make("div", { class: "tokens", role: "row" });
    this.image = make("img", { alt: "", draggable: "false" });
    this.cells = make("div", { class: "cells", role: "rowgroup" });
    this.frame = make("div", { class: "image", role: "presentation" }, this.image, this.cells);
    this.root = make("div", { class: "patches", role: "grid" }, this.tokens, this.frame);
    host.append(this.root);
    const placeOf = (event) => { const patch = event.target.closest(".patch"); return patch && Number(patch.dataset.place); };
    const point = (event) => { const place = placeOf(event); if (place !== null) tell.point(place); };
    this.root.addEventListener("pointerover", point);
    this.root.addEventListener("pointerleave", () => tell.point(null));
    this.root.addEventListener("focusin", (event) => { this.places.forEach((one) => (one.tabIndex = one === event.target ? 0 : -1)); point(event); });
    this.root.addEventListener("focusout", (event) => { if (!this.root.contains(event.relatedTarget)) tell.point(null); });
    this.root.addEventListener("click", (event) => { const place = placeOf(event); if (place !== null) tell.pin(place); });
    this.root.addEventListener("keydown", (event) => this.#key(event, placeOf(event)));
  }

  show(seen) {
    const { run } = seen;
    this.seen = seen;
    this.places = [];
    if (run.image && this.image.src !== run.image) this.image.src = run.image;
    this.image.hidden = !run.image;
    this.image.classList.toggle("small", Math.max(run.width, run.height) < SMALL);
    this.frame.style.aspectRatio = `${run.width} / ${run.height}`;
    this.cells.hidden = !seen.grid;
    this.layout = seen.grid ? layoutOf(seen) : { rows: 0, columns: 0, special: 0 };
    const { rows, columns, special } = this.layout;
    this.root.setAttribute("aria-label", seen.grid ? `the image in ${rows} × ${columns} patches` : "the image");
    this.tokens.hidden = !special;
    this.tokens.replaceChildren(...seen.keys.slice(0, special).map((_, place) => this.#place(place, make("span", { text: "class token" }), make("small", { "aria-hidden": "true" }))));
    this.cells.style.gridTemplate = `repeat(${rows}, 1fr) / repeat(${columns}, 1fr)`;
    this.cells.replaceChildren(...Array.from({ length: rows }, (_, row) => make("div", { role: "row" }, ...Array.from({ length: columns }, (_, column) => this.#place(special + row * columns + column)))));
  }

  #place(place, ...inside) {
    const name = nameOf(this.seen.keys[place].label);
    const made = make("span", { class: inside.length ? "patch token" : "patch", role: "gridcell", tabindex: place ? -1 : 0, "data-place": place, "aria-label": name, "aria-selected": "false" }, ...inside);
    this.places[place] = made;
    return made;
  }

  #key(event, place) {
    if (place === null) return;
    const { columns, special } = this.layout, last = this.places.length - 1, cell = place - special;
    // From the class token one walks down into the image; from its first row back up.
    const up = cell < 0 ? place : cell < columns && special ? 0 : place - columns;
    const goal = {
      ArrowRight: place + 1, ArrowLeft: place - 1, ArrowUp: up, ArrowDown: cell < 0 ? special : place + columns,
      Home: cell < 0 ? place : place - (cell % columns), End: cell < 0 ? place : place - (cell % columns) + columns - 1,
    }[event.key];
    if (goal !== undefined) this.focus(goal >= 0 && goal <= last ? goal : place);
    else if (event.key === "Enter" || event.key === " ") this.tell.pin(place);
    else if (event.key === "Escape") this.tell.pin(null);
    else return;
    event.preventDefault();
  }

  focus(place) {
    this.places[place]?.focus();
  }

  // Light up places by their weights; how: "light" or "heat".
  light(weights, { pointed, pinned, how }) {
    if (!this.seen.grid) return;
    const { special } = this.layout, { values } = sharesOf(weights, this.layout), cover = covers(how), colours = weightColours();
    this.places.forEach((element, place) => {
      element.dataset.weight = weights[place];
      element.classList.toggle("pointed", place === pointed);
      element.classList.toggle("pinned", place === pinned);
      element.setAttribute("aria-selected", String(place === pinned));
      if (place >= special) {
        element.style.background = rgba(cover(values[place - special]));
        return;
      }
      element.style.background = weights[place] > 0 ? css(colours(weights[place])) : "";
      element.style.color = inkOn(weights[place]);
      element.lastChild.textContent = percent(weights[place]);
    });
    this.lit = { values, cover };
  }

  size() {
    const { width, height } = this.seen.run, longest = Math.max(width, height);
    return { width: (480 * width) / longest, height: (480 * height) / longest };
  }

  // The same on a pen for files.
  draw(pen, { width, height }) {
    const { rows, columns } = this.layout, across = width / columns, down = height / rows;
    if (this.seen.run.image) pen.image(0, 0, width, height, this.image);
    this.lit?.values.forEach((share, cell) => pen.rectangle((cell % columns) * across, Math.floor(cell / columns) * down, across, down, rgba(this.lit.cover(share))));
  }
}
