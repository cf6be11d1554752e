// Source and output as words. Pointing at one lights up the others by weight; arrow keys walk, Enter pins.
import { css, headColour, inkOn, shadeOf, weightColours } from "./colour.js";
import { make, makeSvg } from "./elements.js";
import { hundredths } from "./formats.js";
import { sideName } from "./kinds.js";
import { probabilityOf } from "./pointed_word.js";
import { say, translated } from "./texts.js";
import { listenToPlaces } from "./walking.js";
import { weightsOf } from "./weights.js";

const FAINT = 0.02; // weights below this get no line

export class Words {
  // point(side, place or null) and pin(place or null) are told what the viewer does.
  constructor(host, { point, pin }) {
    Object.assign(this, { point, pin });
    const side = (name) => make("div", { class: "side", "data-side": name });
    this.sides = { key: side("key"), query: side("query") };
    this.curves = makeSvg("svg", { class: "curves", "aria-hidden": "true" });
    this.root = make("div", { class: "sides" }, this.sides.key, this.sides.query, this.curves);
    this.root.addEventListener("pointerleave", () => point("query", null));
    host.append(this.root);
  }

  show(selection) {
    this.selection = selection;
    this.colours = weightColours();
    const { run, queries, keys, querySide, keySide, matrix, writes, isOneSide } = selection;
    const shares = writes ? queries.map((item) => probabilityOf(run, item)) : [];
    const notes = shares.map((share) => (share === null ? "" : hundredths(share)));
    this.root.classList.toggle("one-side", Boolean(isOneSide));
    this.sides.key.hidden = Boolean(isOneSide);
    const name = sideName(querySide);
    const title = writes ? say("{side}, with the probability of each in %", { side: name }) : name;
    this.words = { query: [], key: [] };
    if (matrix || writes) this.words.query = this.#fill("query", queries, title, notes);
    else this.sides.query.replaceChildren();
    if (isOneSide) {
      this.words.key = this.words.query;
      this.sides.key.replaceChildren();
    } else if (matrix) this.words.key = this.#fill("key", keys, sideName(keySide));
    else {
      this.sides.key.replaceChildren(
        ...(writes ? [make("h3", { text: say("source") }), make("p", { class: "plain", text: run.source })] : []),
        make("p", { class: "note", text: translated(run.note) }));
    }
  }

  // notes: what stands below each word while no weight does.
  #fill(side, items, title, notes = []) {
    const words = items.map((item, place) => makeWord(item, place, notes[place]));
    const role = { role: "listbox", "aria-label": title, "aria-orientation": "horizontal" };
    const list = make("div", { class: "words", ...role }, ...words);
    listenToPlaces(list, {
      root: this.root,
      places: () => words,
      point: (place) => this.point(side, place),
      pin: this.pin,
      canPin: side === "query",
      goalOf: (key, place) => goalInLine(key, place, words.length - 1),
    });
    this.sides[side].replaceChildren(make("h3", { text: title }), list);
    return words;
  }

  focus(side, place) {
    this.words[side][place]?.focus();
  }

  // Light up what `pointed` looks at (or who looks at it); written: how many words of the output exist so far.
  light(pointed, pinned = null, written = null) {
    const { matrix, isOneSide } = this.selection;
    const lit = pointed && matrix ? (isOneSide || pointed.side === "key" ? "query" : "key") : null;
    const weights = lit && weightsOf(matrix, pointed);
    for (const side of isOneSide ? ["query"] : ["query", "key"]) {
      this.words[side].forEach((word, place) => {
        word.classList.toggle("pointed", (isOneSide || pointed?.side === side) && pointed?.place === place);
        word.classList.toggle("unwritten", side === "query" && written !== null && place >= written);
        if (side === "query") {
          word.classList.toggle("pinned", place === pinned);
          word.setAttribute("aria-selected", String(place === pinned));
        }
        this.#shade(word, side === lit ? weights[place] : null);
      });
    }
    this.#drawCurves(pointed, lit);
  }

  #shade(word, weight) {
    if (weight === null) {
      if (word.dataset.weight === undefined) return;
      delete word.dataset.weight;
      word.style.background = word.style.color = "";
      word.lastChild.textContent = word.dataset.note ?? "";
      return;
    }
    word.dataset.weight = weight;
    word.style.background = weight > 0 ? css(this.colours(weight)) : "";
    word.style.color = inkOn(weight);
    word.lastChild.textContent = weight >= 0.01 ? Math.round(100 * weight) : "";
  }

  #drawCurves(pointed, lit) {
    this.curves.replaceChildren();
    if (!lit) return;
    const box = this.root.getBoundingClientRect();
    this.curves.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    const ends = this.words[lit].map((word) => word.getBoundingClientRect());
    const from = this.words[pointed.side][pointed.place].getBoundingClientRect();
    const { heads, isOneSide } = this.selection, paths = [];
    for (const { head, matrix } of heads) {
      const shift = heads.length > 1 ? (paths.length % 7) - 3 : 0;
      weightsOf(matrix, pointed).forEach((weight, place) => {
        if (weight < FAINT) return;
        const look = {
          stroke: headColour(head), "stroke-opacity": 0.15 + 0.7 * shadeOf(weight),
          "stroke-width": 0.75 + 3.5 * weight,
        };
        if (isOneSide) {
          const d = arcOf(from, ends[place], box, shift);
          if (place !== pointed.place) paths.push(makeSvg("path", { d, ...look }));
          return;
        }
        const [top, bottom] = lit === "key" ? [ends[place], from] : [from, ends[place]];
        const x1 = top.left + top.width / 2 - box.left + shift, y1 = top.bottom - box.top;
        const x2 = bottom.left + bottom.width / 2 - box.left + shift, y2 = bottom.top - box.top, half = (y2 - y1) / 2;
        paths.push(makeSvg("path", { d: `M${x1} ${y1}C${x1} ${y1 + half} ${x2} ${y2 - half} ${x2} ${y2}`, ...look }));
      });
    }
    this.curves.replaceChildren(...paths);
  }
}

// From one word to another of the same line, above both: higher for words further apart.
function arcOf(from, to, box, shift) {
  const x1 = from.left + from.width / 2 - box.left + shift, y1 = from.top - box.top;
  const x2 = to.left + to.width / 2 - box.left + shift, y2 = to.top - box.top;
  const top = Math.min(y1, y2) - Math.min(14 + Math.abs(x2 - x1) / 7, 52);
  return `M${x1} ${y1}C${x1} ${top} ${x2} ${top} ${x2} ${y2}`;
}

export function makeWord({ label, shown, continues }, place, note) {
  const isSpecial = /^\[.*\]$/.test(label);
  return make("span", {
    class: `word${continues ? " continues" : ""}${isSpecial ? " special" : ""}`, role: "option", title: label,
    tabindex: place ? -1 : 0, "aria-label": shown, "aria-selected": "false", "data-place": place, "data-note": note,
  }, make("span", { class: "letters", text: shown }), make("small", { "aria-hidden": "true", text: note ?? "" }));
}

// Where a key leads from a word of a line.
export function goalInLine(key, place, last) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
  if (step !== undefined) return Math.max(0, Math.min(last, place + step));
  return { Home: 0, End: last }[key];
}
