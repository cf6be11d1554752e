// Lines between words, all at once: keys on the left, queries on the right, a colour a head.
import { make } from "./build.js";
import { headColour, inkOf, shadeOf } from "./colour.js";
import { CanvasPen, widthOf } from "./pen.js";
import { columnOf, rowOf } from "./weights.js";

const ROW = 24, FAINT = 0.02, GAP = 10;

export class Lines {
  constructor(host, state) {
    this.state = state;
    this.base = make("canvas", { role: "img" });
    this.above = make("canvas", { class: "above", "aria-hidden": "true" });
    this.frame = make("div", { class: "figure" }, this.base, this.above);
    host.append(this.frame);
    this.frame.addEventListener("pointermove", (event) => this.#point(event));
    this.frame.addEventListener("pointerleave", () => state.point("query", null));
    this.frame.addEventListener("click", (event) => { const found = this.#at(event); if (found?.side === "query") state.pin(found.place); });
  }

  // The frame is as wide as its column; a sentence sets the height.
  size(width = this.frame.clientWidth) {
    const { keys, queries } = this.state.seen;
    return { width: Math.min(width, 860), height: ROW * Math.max(keys.length, queries.length, 1) + 8 };
  }

  draw(pen, size, only = null) {
    const { keys, queries, heads, grid } = this.state.seen;
    if (!grid) return;
    const widest = (items) => Math.min(Math.max(0, ...items.map((item) => widthOf(item.shown))), size.width / 3);
    const left = widest(keys) + GAP, right = size.width - widest(queries) - GAP;
    const ink = inkOf("ink"), middle = (place) => 4 + ROW * (place + 0.5);
    for (const { head, grid: own } of heads) {
      const colour = headColour(head);
      const [firstQuery, lastQuery] = only?.side === "query" ? [only.place, only.place + 1] : [0, own.rows];
      const [firstKey, lastKey] = only?.side === "key" ? [only.place, only.place + 1] : [0, own.columns];
      for (let query = firstQuery; query < lastQuery; query++) {
        for (let key = firstKey; key < lastKey; key++) {
          const weight = own.values[query * own.columns + key];
          if (weight < FAINT) continue;
          pen.curve(left, middle(key), right, middle(query), { colour, alpha: Math.min(1, 0.08 + 0.9 * weight), thickness: 0.6 + 2.6 * weight });
        }
      }
    }
    const weights = !only ? null : only.side === "query" ? rowOf(grid, only.place) : columnOf(grid, only.place);
    const write = (items, side, x, align) => items.forEach((item, place) => {
      const near = only && only.side !== side ? shadeOf(weights[place]) : only ? Number(only.place === place) : 1;
      if (only && near < 0.15) return;
      pen.text(x, middle(place), item.shown, { colour: ink, align, weight: only && near > 0.5 ? 650 : 400 });
    });
    write(keys, "key", left - GAP / 2, "right");
    write(queries, "query", right + GAP / 2, "left");
  }

  show() {
    const size = this.size();
    this.draw(new CanvasPen(this.base, size.width, size.height), size);
    this.shown = size;
    this.pen = new CanvasPen(this.above, size.width, size.height);
    this.base.setAttribute("aria-label", "lines from each word to the words it looks at; the list of words above tells the same in numbers");
    this.light();
  }

  // All lines stay as they are and fade; those of one word are drawn above them.
  light() {
    const { pointed } = this.state;
    this.base.style.opacity = pointed ? 0.16 : 1;
    this.pen.clear();
    if (pointed) this.draw(this.pen, this.shown, pointed);
  }

  #at(event) {
    const box = this.base.getBoundingClientRect();
    const place = Math.floor((event.clientY - box.top - 4) / ROW);
    const side = event.clientX - box.left < box.width / 2 ? "key" : "query";
    const items = side === "key" ? this.state.seen.keys : this.state.seen.queries;
    return place >= 0 && place < items.length ? { side, place } : null;
  }

  #point(event) {
    const found = this.#at(event);
    if (found) this.state.point(found.side, found.place);
  }
}
