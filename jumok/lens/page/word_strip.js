// All words of a caption at once, each over the image where it looked: as figure 1 of Show, Attend and Tell.
import { styleOf } from "./colour.js";
import { make } from "./elements.js";
import { overlayColours } from "./overlay.js";
import { Panel } from "./panel.js";
import { pixels } from "./renderers.js";
import { smoothed } from "./smoothing.js";
import { say } from "./texts.js";
import { rowOf } from "./weights.js";

const SMALL = 100, SIDE = 150, GAP = 14, LABEL = 30; // pixels

export class WordStrip extends Panel {
  // overlayOf(state) says what lies over the image, isOverImage(selection) whether words look at it.
  constructor(host, state, { overlayOf, isOverImage }) {
    super(host, state, "strip-of-words");
    Object.assign(this, { overlayOf, isOverImage });
    this.host.addEventListener("pointerleave", () => state.point("query", null));
    const placeOf = (event) => event.target.closest("[data-word]");
    for (const event of ["pointerover", "focusin"]) {
      this.host.addEventListener(event, (one) => {
        const found = placeOf(one);
        if (found) state.point("query", Number(found.dataset.word));
      });
    }
    this.host.addEventListener("focusout", () => state.point("query", null));
    this.host.addEventListener("click", (event) => {
      const found = placeOf(event);
      if (found) state.pin(Number(found.dataset.word));
    });
  }

  show() {
    const { selection } = this.state;
    this.panels = [];
    if (!selection.matrix) return this.showNote(say("This run has no attention, so its words have no maps."));
    if (!this.isOverImage(selection)) {
      return this.showNote(say("These weights look at words. Choose who looks at whom above to see the image."));
    }
    const { run, settings } = selection, colours = overlayColours(this.overlayOf(this.state));
    const grid = run.grids[settings.kind];
    this.panels = wordsOf(selection).map(({ item, place }) => {
      const canvas = pixels(smoothed(rowOf(selection.matrix, place), grid), colours);
      canvas.className = "smooth";
      const image = run.image ? make("img", { src: run.image, alt: "", class: smallOf(run) }) : null;
      const shape = `aspect-ratio: ${run.width} / ${run.height}`;
      const frame = make("div", { class: "image", style: shape }, image, canvas);
      const letters = make("span", { class: "letters", text: item.shown });
      const own = make("button", { class: "word-panel", "data-word": place, title: item.shown }, frame, letters);
      return { own, place, canvas, image, word: item.shown };
    });
    this.host.replaceChildren(...this.panels.map(({ own }) => own));
    this.light();
  }

  light() {
    const { pointed, pinned, settings: { written } } = this.state;
    for (const { own, place } of this.panels) {
      own.classList.toggle("pointed", pointed?.side === "query" && pointed.place === place);
      own.classList.toggle("pinned", place === pinned);
      own.classList.toggle("unwritten", written !== null && place >= written);
      own.setAttribute("aria-pressed", String(place === pinned));
    }
  }

  size(width) {
    const { run } = this.state.selection, longest = Math.max(run.width, run.height);
    const wide = (SIDE * run.width) / longest, high = (SIDE * run.height) / longest;
    const each = Math.max(1, Math.min(this.panels.length, Math.floor((width + GAP) / (wide + GAP))));
    const rows = Math.ceil(this.panels.length / each);
    return { wide, high, each, width: each * (wide + GAP) - GAP, height: rows * (high + LABEL) };
  }

  draw(renderer, { wide, high, each }) {
    this.panels.forEach(({ image, canvas, word }, number) => {
      const x = (number % each) * (wide + GAP), y = Math.floor(number / each) * (high + LABEL);
      if (image) renderer.image(x, y, wide, high, image);
      renderer.image(x, y, wide, high, canvas);
      renderer.text(x + wide / 2, y + high + 13, word, { colour: styleOf("ink"), align: "center", size: 14 });
    });
  }
}

// Words without the end, which is none.
export function wordsOf({ queries }) {
  return queries.map((item, place) => ({ item, place })).filter(({ item }) => !item.isEnd);
}

function smallOf({ width, height }) {
  return Math.max(width, height) < SMALL ? "small" : "";
}
