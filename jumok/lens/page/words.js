// Source and output as words. Pointing at one lights up the others by weight; arrow keys walk, Enter pins.
import { css, headColour, inkOn, shadeOf, weightColours } from "./colour.js";
import { make, makeSvg } from "./elements.js";
import { isDecided, probabilityOf } from "./pointed_word.js";
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
    const { run, queries, keys, querySide, keySide, matrix, writes } = selection;
    const note = (item) => (isDecided(run, item) ? String(Math.round(100 * probabilityOf(run, item))) : undefined);
    const isOneSide = keySide?.name === querySide.name;
    const extra = writes ? ", with the probability of each in %" : "";
    const title = `${querySide.name}${isOneSide ? " (queries)" : ""}${extra}`;
    this.words = { query: [], key: [] };
    if (matrix || writes) this.words.query = this.#fill("query", queries, title, writes ? queries.map(note) : []);
    else this.sides.query.replaceChildren();
    if (matrix) this.words.key = this.#fill("key", keys, `${keySide.name}${isOneSide ? " (keys)" : ""}`);
    else {
      this.sides.key.replaceChildren(
        ...(writes ? [make("h3", { text: "source" }), make("p", { class: "plain", text: run.source })] : []),
        make("p", { class: "note", text: run.note }));
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
      goalOf: (key, place) => goalOf(key, place, words.length - 1),
    });
    this.sides[side].replaceChildren(make("h3", { text: title }), list);
    return words;
  }

  focus(side, place) {
    this.words[side][place]?.focus();
  }

  // Light up what `pointed` looks at (or who looks at it); written: how many words of the output exist so far.
  light(pointed, pinned = null, written = null) {
    const { matrix } = this.selection;
    const lit = pointed && matrix ? (pointed.side === "query" ? "key" : "query") : null;
    const weights = lit && weightsOf(matrix, pointed);
    for (const side of ["query", "key"]) {
      this.words[side].forEach((word, place) => {
        word.classList.toggle("pointed", pointed?.side === side && pointed.place === place);
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
    const { heads } = this.selection, paths = [];
    for (const { head, matrix } of heads) {
      const shift = heads.length > 1 ? (paths.length % 7) - 3 : 0;
      weightsOf(matrix, pointed).forEach((weight, place) => {
        if (weight < FAINT) return;
        const [top, bottom] = lit === "key" ? [ends[place], from] : [from, ends[place]];
        const x1 = top.left + top.width / 2 - box.left + shift, y1 = top.bottom - box.top;
        const x2 = bottom.left + bottom.width / 2 - box.left + shift, y2 = bottom.top - box.top, half = (y2 - y1) / 2;
        paths.push(makeSvg("path", {
          d: `M${x1} ${y1}C${x1} ${y1 + half} ${x2} ${y2 - half} ${x2} ${y2}`,
          stroke: headColour(head),
          "stroke-opacity": 0.15 + 0.7 * shadeOf(weight),
          "stroke-width": 0.75 + 3.5 * weight,
        }));
      });
    }
    this.curves.replaceChildren(...paths);
  }
}

function makeWord({ label, shown, continues }, place, note) {
  const isSpecial = /^\[.*\]$/.test(label);
  return make("span", {
    class: `word${continues ? " continues" : ""}${isSpecial ? " special" : ""}`, role: "option", title: label,
    tabindex: place ? -1 : 0, "aria-label": shown, "aria-selected": "false", "data-place": place, "data-note": note,
  }, make("span", { class: "letters", text: shown }), make("small", { "aria-hidden": "true", text: note ?? "" }));
}

function goalOf(key, place, last) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
  if (step !== undefined) return Math.max(0, Math.min(last, place + step));
  return { Home: 0, End: last }[key];
}
