// The image of a caption under a smooth veil, or heat, of one word's weights; its cells can be pointed at.
import { make } from "./elements.js";
import { overlayColours } from "./overlay.js";
import { Patches } from "./patches.js";
import { pixels } from "./renderers.js";
import { smoothed } from "./smoothing.js";

const LASTS = 160; // milliseconds from one word's map to the next

export class CaptionImage extends Patches {
  constructor(host, listeners) {
    super(host, listeners);
    this.canvas = make("canvas", { class: "smooth", "aria-hidden": "true" });
    this.figure.insertBefore(this.canvas, this.cells);
    this.lessMotion = matchMedia("(prefers-reduced-motion: reduce)");
    this.painted = null;
  }

  // weights of each cell, or null: nothing lies over the image; drawn: "smooth" or "cells".
  light(weights, { pointed, pinned = null, overlay, drawn }) {
    if (!this.selection.matrix) return this.#paint(null, overlay);
    const isSmooth = drawn === "smooth" || !weights;
    this.cells.classList.toggle("bare", isSmooth);
    if (!isSmooth) {
      super.light(weights, { pointed, pinned, overlay });
      this.#paint(null, overlay);
      return;
    }
    this.lit = null;
    this.places.forEach((element, place) => {
      element.style.background = "";
      if (weights) element.dataset.weight = weights[place];
      else delete element.dataset.weight;
      element.classList.toggle("pointed", place === pointed);
      element.classList.toggle("pinned", place === pinned);
      element.setAttribute("aria-selected", String(place === pinned));
    });
    this.#paint(weights && smoothed(weights, this.grid), overlay);
  }

  // A plain image is one without a veil, or without heat: so it, too, can fade into the next map.
  #paint(goal, overlay) {
    const rest = overlay === "heat" ? 0 : 1, from = this.painted;
    const size = goal ?? from;
    cancelAnimationFrame(this.waiting);
    if (!size) return;
    const at = (map, place) => (map && map.values.length === size.values.length ? map.values[place] : rest);
    const colourOf = overlayColours(overlay), begun = performance.now();
    const step = (now) => {
      const share = this.lessMotion.matches ? 1 : Math.min(1, Math.max(0, now - begun) / LASTS);
      const values = size.values.map((_, place) => at(from, place) * (1 - share) + at(goal, place) * share);
      this.painted = { ...size, values };
      pixels(this.painted, colourOf, this.canvas);
      if (share < 1) this.waiting = requestAnimationFrame(step);
      else if (!goal) this.#forget();
    };
    step(begun);
  }

  #forget() {
    this.painted = null;
    this.canvas.width = this.canvas.height = 1;
  }

  show(selection) {
    super.show(selection);
    this.#forget();
  }

  // The same for files.
  draw(renderer, size) {
    super.draw(renderer, size);
    if (this.painted) renderer.image(0, 0, size.width, size.height, this.canvas);
  }
}
