// The text of a drawing: pointing at a word lights up cells, pointing at a cell lights up words.
import { css, inkOn, weightColours } from "./colour.js";
import { make } from "./elements.js";
import { percent } from "./formats.js";
import { largestOf } from "./patch_grid.js";
import { say } from "./texts.js";
import { listenToPlaces } from "./walking.js";
import { goalInLine, makeWord } from "./words.js";

export class DrawingWords {
  // point(place or null) and pin(place or null) are told what the viewer does.
  constructor(host, { point, pin }) {
    const role = { role: "listbox", "aria-orientation": "horizontal" };
    this.list = make("div", { class: "words caption-words text-words", ...role });
    host.append(this.list);
    this.list.addEventListener("pointerleave", () => point(null));
    listenToPlaces(this.list, {
      places: () => this.words, point, pin, goalOf: (key, place) => goalInLine(key, place, this.words.length - 1),
    });
  }

  // items of the text and the mark after it; shares: how much of all cells' attention each got.
  show(items, shares) {
    this.colours = weightColours();
    this.words = items.map((item, place) => makeWord(item, place, rounded(shares[place])));
    this.list.setAttribute("aria-label", say("the text, with each word's share of all cells' attention in %"));
    this.list.replaceChildren(...this.words);
  }

  focus(place) {
    this.words[place]?.focus();
  }

  // weights by which words are lit, or null: the shares stand below them.
  light(weights, { pointed = null, pinned = null }) {
    const most = weights ? largestOf(weights) : 0;
    this.words.forEach((word, place) => {
      word.classList.toggle("pointed", place === pointed);
      word.classList.toggle("pinned", place === pinned);
      word.setAttribute("aria-selected", String(place === pinned));
      if (!weights) {
        delete word.dataset.weight;
        word.style.background = word.style.color = "";
        word.lastChild.textContent = word.dataset.note ?? "";
        return;
      }
      const share = most ? weights[place] / most : 0;
      word.dataset.weight = weights[place];
      word.style.background = share > 0 ? css(this.colours(share * share)) : "";
      word.style.color = inkOn(share * share);
      word.lastChild.textContent = rounded(weights[place]);
    });
  }
}

// A share in %, short enough to stand below a word.
function rounded(share) {
  return share >= 0.0995 ? percent(share, 0).replace(" %", "") : percent(share, 1).replace(" %", "");
}
