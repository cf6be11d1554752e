// The wall of all heads of a kind, layers × heads, and beside it their figures in a table that can be sorted.
import { decimal, make } from "./build.js";
import { inkOf, weightColours } from "./colour.js";
import { pixels } from "./pen.js";
import { wholeGrids } from "./seen.js";
import { figuresOf } from "./weights.js";

// What the wall is told of heads of words: the columns of its table, their figures, what a thumbnail shows, and the tab that a click opens.
const OF_WORDS = { columns: [
  ["layer", "layer", 0, "Layer, counted from 1"],
  ["head", "head", 0, "Head, counted from 1"],
  ["entropy", "entropy", 2, "In nats: 0 looks at one word, more at many"],
  ["distance", "distance", 2, "Words between where it looks and its own place"],
  ["onEnd", "on end", 3, "Share of weight on the end token"],
  ["diagonality", "diagonal", 2, "1 where it looks at its own place alone"],
], figures: figuresOf, drawn: ({ grid }) => grid, colours: () => weightColours(), opens: "map" };
const WORTH = [
  ["lost", "lost without", 3, "Log-probability that the answer loses when the head is off"],
  ["strongest", "strongest", 2, "Its largest weight, a mean over words: how sharply it looks"],
];

export class Wall {
  constructor(host, state, manner = OF_WORDS) {
    this.state = state;
    this.manner = manner;
    this.sorted = { by: "", up: true };
    this.wall = make("div", { class: "wall" });
    this.table = make("div", { class: "table scrolls" });
    host.append(make("div", { class: "heads" }, make("div", { class: "scrolls" }, this.wall), this.table));
  }

  show() {
    const { run, choice } = this.state;
    const maps = run.maps.filter((map) => map.kind === choice.kind);
    this.heads = maps.flatMap((map) => wholeGrids(run, map, choice.words).map(({ grid, ends }, head) => {
      const worth = run.worth.find((one) => one.path === map.path && one.head === head) ?? {};
      return { layer: map.number, head: head + 1, grid, ...this.manner.figures(grid, ends), lost: worth.lost, strongest: worth.strongest };
    }));
    this.#fillWall(maps);
    this.#fillTable();
  }

  // Drawn again on a pen for files: the same thumbnails with their numbers.
  size() {
    const layers = Math.max(1, ...this.heads.map((one) => one.layer)), heads = Math.max(1, ...this.heads.map((one) => one.head));
    return { width: 60 + 104 * heads, height: 30 + 104 * layers };
  }

  draw(pen) {
    const colours = this.manner.colours(), colour = inkOf("ink");
    for (const one of this.heads) {
      const { layer, head } = one, grid = this.manner.drawn(one);
      const x = 60 + 104 * (head - 1), y = 30 + 104 * (layer - 1), side = 100 / Math.max(grid.rows, grid.columns);
      pen.cells(x, y, side * grid.columns, side * grid.rows, grid, colours);
      if (layer === 1) pen.text(x + 50, 15, `head ${head}`, { colour, align: "center", size: 12 });
      if (head === 1) pen.text(52, y + 50, `layer ${layer}`, { colour, align: "right", size: 12 });
    }
  }

  #fillWall(maps) {
    const { choice } = this.state, colours = this.manner.colours();
    const columns = Math.max(1, ...maps.map((map) => map.heads));
    this.wall.style.setProperty("--heads", columns);
    const cells = [make("span")];
    for (let head = 1; head <= columns; head++) cells.push(make("span", { class: "axis", text: `head ${head}` }));
    for (const one of this.heads) {
      if (one.head === 1) cells.push(make("span", { class: "axis", text: `layer ${one.layer}` }));
      const chosen = choice.layer === one.layer && choice.heads.includes(one.head - 1);
      const button = make("button", {
        class: chosen ? "thumb chosen" : "thumb", "data-layer": one.layer, "data-head": one.head,
        "aria-label": `layer ${one.layer}, head ${one.head}: entropy ${decimal(one.entropy, 2)}, distance ${decimal(one.distance, 2)}; enlarge`,
        title: `layer ${one.layer}, head ${one.head} · entropy ${decimal(one.entropy, 2)} · distance ${decimal(one.distance, 2)}`,
        onclick: () => this.#choose(one, this.manner.opens),
      }, pixels(this.manner.drawn(one), colours));
      cells.push(button);
    }
    this.wall.replaceChildren(...cells);
  }

  // Thumbnails anew, where they hang on what is pointed at.
  redraw() {
    const colours = this.manner.colours(), thumbs = this.wall.querySelectorAll(".thumb canvas");
    this.heads.forEach((one, number) => pixels(this.manner.drawn(one), colours, thumbs[number]));
  }

  #choose({ layer, head }, tab) {
    this.state.set({ layer, heads: [head - 1], how: this.state.choice.how === "rollout" ? "mean" : this.state.choice.how, tab });
  }

  #fillTable() {
    const told = [...this.manner.columns, ...(this.heads.some((one) => one.lost !== undefined) ? WORTH : [])];
    const { by, up } = this.sorted, { choice } = this.state;
    const rows = by ? [...this.heads].sort((one, other) => (up ? 1 : -1) * (one[by] - other[by])) : this.heads;
    const head = make("tr", {}, ...told.map(([name, text, , title]) =>
      make("th", { scope: "col", "aria-sort": by === name ? (up ? "ascending" : "descending") : "none" },
        make("button", { text, title, "data-sort": name, onclick: () => this.#sort(name) }))));
    const body = rows.map((one) => make("tr", {
      class: choice.layer === one.layer && choice.heads.includes(one.head - 1) ? "chosen" : "", tabindex: 0,
      onclick: () => this.#choose(one, "heads"), onkeydown: (event) => event.key === "Enter" && this.#choose(one, "heads"),
    }, ...told.map(([name, , digits]) => make("td", { text: one[name] === undefined ? "" : decimal(one[name], digits) }))));
    this.table.replaceChildren(make("table", {}, make("caption", { class: "unseen", text: "figures of the heads" }), make("thead", {}, head), make("tbody", {}, ...body)));
  }

  #sort(name) {
    this.sorted = { by: name, up: this.sorted.by === name ? !this.sorted.up : name !== "lost" };
    this.#fillTable();
    this.table.querySelector(`[data-sort=${name}]`).focus();
  }
}
