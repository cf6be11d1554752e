// Source and output as words. Pointing at one lights up the others by weight; arrow keys walk, Enter pins.
import { css, headColour, inkOn, shadeOf, weightColours } from "./colour.js";
import { probabilityOf } from "./beside.js";
import { make } from "./build.js";
import { columnOf, rowOf } from "./weights.js";

const FAINT = 0.02; // weights below this get no line

export class Words {
  // tell.point(side, place or null) and tell.pin(place) hear of what the viewer does.
  constructor(host, tell) {
    this.tell = tell;
    this.curves = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.curves.setAttribute("class", "curves");
    this.curves.setAttribute("aria-hidden", "true");
    this.sides = { key: make("div", { class: "side", "data-side": "key" }), query: make("div", { class: "side", "data-side": "query" }) };
    this.root = make("div", { class: "pair" }, this.sides.key, this.sides.query);
    this.root.append(this.curves);
    this.root.addEventListener("pointerleave", () => this.tell.point("query", null));
    host.append(this.root);
  }

  show(seen) {
    this.seen = seen;
    this.colours = weightColours();
    const { querySide, keySide, grid } = seen;
    const likely = seen.writes && seen.run.choices.length > 0;
    const rests = seen.queries.map((item) => (likely ? String(Math.round(100 * probabilityOf(seen.run, item))) : ""));
    this.words = { query: this.#fill("query", seen.queries, `${querySide.name}${likely ? ", and how likely each was in %" : grid ? " looks" : ""}`, rests), key: [] };
    if (grid) this.words.key = this.#fill("key", seen.keys, `${keySide.name}${keySide === querySide ? " is looked at" : ""}`);
    else this.sides.key.replaceChildren(make("h3", { text: "source" }), make("p", { class: "plain", text: seen.run.source }), make("p", { class: "note", text: seen.run.note }));
  }

  // rests: what stands below each word while no weight does.
  #fill(side, items, title, rests = []) {
    const words = items.map((item, place) => {
      const word = make("span", { class: item.joins ? "word joins" : "word", role: "option", tabindex: place ? -1 : 0, "data-place": place, "aria-label": item.shown, "aria-selected": "false", title: item.label, "data-rest": rests[place] },
        make("span", { class: "letters", text: item.shown }), make("small", { "aria-hidden": "true", text: rests[place] ?? "" }));
      if (/^\[.*\]$/.test(item.label)) word.classList.add("special");
      return word;
    });
    const list = make("div", { class: "words", role: "listbox", "aria-label": title, "aria-orientation": "horizontal" }, ...words);
    const placeOf = (event) => { const word = event.target.closest(".word"); return word && Number(word.dataset.place); };
    const point = (event) => { const place = placeOf(event); if (place !== null) this.tell.point(side, place); };
    list.addEventListener("pointerover", point);
    list.addEventListener("focusin", (event) => { words.forEach((word) => (word.tabIndex = word === event.target ? 0 : -1)); point(event); });
    list.addEventListener("focusout", (event) => { if (!this.root.contains(event.relatedTarget)) this.tell.point(side, null); });
    list.addEventListener("click", (event) => { const place = placeOf(event); if (place !== null && side === "query") this.tell.pin(place); });
    list.addEventListener("keydown", (event) => this.#key(event, side, placeOf(event)));
    this.sides[side].replaceChildren(make("h3", { text: title }), list);
    return words;
  }

  #key(event, side, place) {
    if (place === null) return;
    const last = this.words[side].length - 1;
    const goal = { ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1, Home: 0, End: last }[event.key];
    if (goal !== undefined) this.focus(side, Math.max(0, Math.min(last, goal)));
    else if ((event.key === "Enter" || event.key === " ") && side === "query") this.tell.pin(place);
    else if (event.key === "Escape") this.tell.pin(null);
    else return;
    event.preventDefault();
  }

  focus(side, place) {
    this.words[side][place]?.focus();
  }

  // Light up what `pointed` looks at (or who looks at it); written: how many words of the output exist so far.
  light(pointed, pinned = null, written = null) {
    const { grid } = this.seen;
    const lit = pointed && grid ? (pointed.side === "query" ? "key" : "query") : null;
    const weights = !lit ? null : lit === "key" ? rowOf(grid, pointed.place) : columnOf(grid, pointed.place);
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
    this.#lines(pointed, lit);
  }

  #shade(word, weight) {
    if (weight === null) {
      if (word.dataset.weight === undefined) return;
      delete word.dataset.weight;
      word.style.background = word.style.color = "";
      word.lastChild.textContent = word.dataset.rest ?? "";
      return;
    }
    word.dataset.weight = weight;
    word.style.background = weight > 0 ? css(this.colours(weight)) : "";
    word.style.color = inkOn(weight);
    word.lastChild.textContent = weight >= 0.01 ? Math.round(100 * weight) : "";
  }

  #lines(pointed, lit) {
    this.curves.replaceChildren();
    if (!lit) return;
    const box = this.root.getBoundingClientRect();
    this.curves.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    const ends = this.words[lit].map((word) => word.getBoundingClientRect());
    const from = this.words[pointed.side][pointed.place].getBoundingClientRect();
    const paths = [];
    for (const { head, grid } of this.seen.heads) {
      const weights = lit === "key" ? rowOf(grid, pointed.place) : columnOf(grid, pointed.place);
      const shift = this.seen.heads.length > 1 ? (paths.length % 7) - 3 : 0;
      weights.forEach((weight, place) => {
        if (weight < FAINT) return;
        const [top, bottom] = lit === "key" ? [ends[place], from] : [from, ends[place]];
        const x1 = top.left + top.width / 2 - box.left + shift, y1 = top.bottom - box.top;
        const x2 = bottom.left + bottom.width / 2 - box.left + shift, y2 = bottom.top - box.top, half = (y2 - y1) / 2;
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("d", `M${x1} ${y1}C${x1} ${y1 + half} ${x2} ${y2 - half} ${x2} ${y2}`);
        path.setAttribute("stroke", headColour(head));
        path.setAttribute("stroke-opacity", 0.15 + 0.7 * shadeOf(weight));
        path.setAttribute("stroke-width", 0.75 + 3.5 * weight);
        paths.push(path);
      });
    }
    this.curves.replaceChildren(...paths);
  }
}
