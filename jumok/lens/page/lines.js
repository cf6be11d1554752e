// Lines between words, all at once: keys on the left, queries on the right, one colour per head.
import { headColour, styleOf, shadeOf } from "./colour.js";
import { make } from "./elements.js";
import { Panel } from "./panel.js";
import { CanvasRenderer, widestOf } from "./renderers.js";
import { say } from "./texts.js";
import { weightsOf } from "./weights.js";

const ROW = 24, FAINT = 0.02, SPACE = 10;

export class Lines extends Panel {
  // toldOf says what the lines are, for those who cannot see them.
  constructor(host, state, toldOf = ofWords) {
    super(host, state, "figure");
    this.toldOf = toldOf;
    this.base = make("canvas", { role: "img" });
    this.above = make("canvas", { class: "above", "aria-hidden": "true" });
    this.host.append(this.base, this.above);
    this.host.addEventListener("pointermove", (event) => {
      const found = this.#at(event);
      if (found) state.point(found.side, found.place);
    });
    this.host.addEventListener("pointerleave", () => state.point("query", null));
    this.host.addEventListener("click", (event) => {
      const found = this.#at(event);
      if (found?.side === "query") state.pin(found.place);
    });
  }

  // The figure is as wide as its column; a sentence sets the height.
  size(width = this.host.clientWidth) {
    const { keys, queries } = this.state.selection;
    return { width: Math.min(width, 860), height: ROW * Math.max(keys.length, queries.length, 1) + 8 };
  }

  // only: the word whose lines are drawn; null: all.
  draw(renderer, size, only = null) {
    const { keys, queries, heads, matrix } = this.state.selection;
    if (!matrix) return;
    const widest = (items) => Math.min(widestOf(items.map((item) => item.shown)), size.width / 3);
    const left = widest(keys) + SPACE, right = size.width - widest(queries) - SPACE;
    for (const { head, matrix: own } of heads) {
      const colour = headColour(head);
      const [firstQuery, lastQuery] = only?.side === "query" ? [only.place, only.place + 1] : [0, own.rows];
      const [firstKey, lastKey] = only?.side === "key" ? [only.place, only.place + 1] : [0, own.columns];
      for (let query = firstQuery; query < lastQuery; query++) {
        for (let key = firstKey; key < lastKey; key++) {
          const weight = own.values[query * own.columns + key];
          if (weight < FAINT) continue;
          const look = { colour, alpha: Math.min(1, 0.08 + 0.9 * weight), thickness: 0.6 + 2.6 * weight };
          renderer.curve(left, middle(key), right, middle(query), look);
        }
      }
    }
    const weights = only && weightsOf(matrix, only), colour = styleOf("ink");
    const write = (items, side, x, align) => items.forEach((item, place) => {
      const near = only && only.side !== side ? shadeOf(weights[place]) : only ? Number(only.place === place) : 1;
      if (only && near < 0.15) return;
      renderer.text(x, middle(place), item.shown, { colour, align, weight: only && near > 0.5 ? 650 : 400 });
    });
    write(keys, "key", left - SPACE / 2, "right");
    write(queries, "query", right + SPACE / 2, "left");
  }

  show() {
    const size = this.size();
    this.draw(new CanvasRenderer(this.base, size.width, size.height), size);
    this.shown = size;
    this.renderer = new CanvasRenderer(this.above, size.width, size.height);
    this.base.setAttribute("aria-label", this.toldOf());
    this.light();
  }

  // All lines stay as they are and fade; those of one word are drawn above them.
  light() {
    const { pointed } = this.state;
    this.base.style.opacity = pointed ? 0.16 : 1;
    this.renderer.clear();
    if (pointed) this.draw(this.renderer, this.shown, pointed);
  }

  #at(event) {
    const box = this.base.getBoundingClientRect();
    const place = Math.floor((event.clientY - box.top - 4) / ROW);
    const side = event.clientX - box.left < box.width / 2 ? "key" : "query";
    const items = side === "key" ? this.state.selection.keys : this.state.selection.queries;
    return place >= 0 && place < items.length ? { side, place } : null;
  }
}

function ofWords() {
  return say("lines from each word to the words it looks at; the words above tell the same in numbers");
}

function middle(place) {
  return 4 + ROW * (place + 0.5);
}
