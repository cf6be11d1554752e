// The words of a caption: pointing at one lights up the image, pointing at the image lights up words.
import { css, inkOn, weightColours } from "./colour.js";
import { make } from "./elements.js";
import { hundredths } from "./formats.js";
import { largestOf } from "./patch_grid.js";
import { probabilityOf } from "./pointed_word.js";
import { say } from "./texts.js";
import { listenToPlaces } from "./walking.js";
import { columnOf, rowOf } from "./weights.js";
import { goalInLine, makeWord } from "./words.js";

export class CaptionWords {
  // point(place or null) and pin(place or null) are told what the viewer does.
  constructor(host, { point, pin }) {
    this.list = make("div", { class: "words caption-words", role: "listbox", "aria-orientation": "horizontal" });
    host.append(this.list);
    this.list.addEventListener("pointerleave", () => point(null));
    listenToPlaces(this.list, {
      places: () => this.words, point, pin, goalOf: (key, place) => goalInLine(key, place, this.words.length - 1),
    });
  }

  show({ run, queries, matrix }) {
    const shares = queries.map((item) => probabilityOf(run, item));
    const notes = shares.map((share) => (share === null ? "" : hundredths(share)));
    this.matrix = matrix;
    this.colours = weightColours();
    this.words = queries.map((item, place) => makeWord(item, place, notes[place]));
    this.list.setAttribute("aria-label", say("the caption, with the probability of each word in %"));
    this.list.replaceChildren(...this.words);
  }

  focus(place) {
    this.words[place]?.focus();
  }

  // A word that looked at the place pointed at is as strong as that place is when the word itself is pointed at.
  light(pointed, { pinned = null, written = null }) {
    const isPlace = pointed?.side === "key" && this.matrix, weights = isPlace && columnOf(this.matrix, pointed.place);
    this.words.forEach((word, place) => {
      word.classList.toggle("pointed", pointed?.side === "query" && pointed.place === place);
      word.classList.toggle("pinned", place === pinned);
      word.classList.toggle("unwritten", written !== null && place >= written);
      word.setAttribute("aria-selected", String(place === pinned));
      if (isPlace) this.#shade(word, weights[place], weights[place] / (largestOf(rowOf(this.matrix, place)) || 1));
      else this.#clear(word);
    });
  }

  #shade(word, weight, share) {
    word.dataset.weight = weight;
    word.style.background = share > 0 ? css(this.colours(share * share)) : "";
    word.style.color = inkOn(share * share);
    word.lastChild.textContent = weight >= 0.01 ? Math.round(100 * weight) : "";
  }

  #clear(word) {
    if (word.dataset.weight === undefined) return;
    delete word.dataset.weight;
    word.style.background = word.style.color = "";
    word.lastChild.textContent = word.dataset.note ?? "";
  }
}
