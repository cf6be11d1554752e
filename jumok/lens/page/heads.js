// All heads of a kind as small maps, layers × heads, and beside them their measures in a table that can be sorted.
import { styleOf, weightColours } from "./colour.js";
import { explained, make } from "./elements.js";
import { decimal } from "./formats.js";
import { Panel } from "./panel.js";
import { pixels } from "./renderers.js";
import { matricesOf } from "./selection.js";
import { say } from "./texts.js";
import { measuresOf } from "./weights.js";

const LEFT = 60, TOP = 30, STRIDE = 104, SIDE = 100; // pixels of the figure that is saved
// Columns are [name, text, digits, meaning]. These are there whatever is looked at: words or patches.
export const columnsFor = (thing, things) => [
  ["layer", say("layer"), 0, say("Layer, counted from 1")],
  ["head", say("head"), 0, say("Head, counted from 1")],
  ["entropy", say("spread"), 2, say("Entropy in nats: 0 looks at one {thing}, more at many", { thing })],
  ["distance", say("distance"), 2, say("Distance in {things} between where it looks and its own place", { things })],
];
const columnsOfWords = () => [
  ...columnsFor(say("word"), say("words")),
  ["onEnd", say("on the end token"), 3, say("Share of weight on the end token")],
  ["diagonality", say("diagonal"), 2, say("Diagonality: 1 where it looks at its own place alone")],
];
const columnsOfWorth = () => [
  ["lost", say("lost without it"), 3, say("Log-probability that the answer loses when the head is off")],
  ["strongest", say("strongest weight"), 2, say("Its largest weight, a mean over words: how sharply it looks")],
];

export class Heads extends Panel {
  constructor(host, state) {
    super(host, state, "heads");
    this.sorted = { by: "", isUp: true };
    this.thumbnails = make("div", { class: "thumbnails" });
    this.table = make("div", { class: "table scrolls" });
    this.host.append(make("div", { class: "scrolls" }, this.thumbnails), this.table);
  }

  // What differs for heads of an image (image_heads.js): the columns and measures of the table, what a thumbnail
  // shows, and the tab that a click on it opens.
  columns() { return columnsOfWords(); }
  opens = "map";
  measuresOf(matrix, ends) { return measuresOf(matrix, ends); }
  drawnOf({ matrix }) { return matrix; }
  coloursOf() { return weightColours(); }
  coloursOnScreen() { return this.coloursOf(); }
  toldOf(one) {
    const values = { spread: decimal(one.entropy, 2), distance: decimal(one.distance, 2) };
    return say("spread {spread}, distance {distance}", values);
  }

  show() {
    const { run, settings } = this.state;
    const maps = run.maps.filter((map) => map.kind === settings.kind);
    this.heads = maps.flatMap((map) => matricesOf(run, map, settings.words).map(({ matrix, ends }, head) => {
      const { lost, strongest } = run.worth.find((one) => one.path === map.path && one.head === head) ?? {};
      return { layer: map.number, head: head + 1, matrix, ...this.measuresOf(matrix, ends), lost, strongest };
    }));
    this.#fillThumbnails(Math.max(1, ...maps.map((map) => map.heads)));
    this.#fillTable();
  }

  // The same for files: thumbnails with their numbers.
  size() {
    const most = (name) => Math.max(1, ...this.heads.map((one) => one[name]));
    return { width: LEFT + STRIDE * most("head"), height: TOP + STRIDE * most("layer") };
  }

  draw(renderer) {
    const colours = this.coloursOf(), label = { colour: styleOf("ink"), size: 12 };
    for (const one of this.heads) {
      const { layer, head } = one, drawn = this.drawnOf(one), side = SIDE / Math.max(drawn.rows, drawn.columns);
      const x = LEFT + STRIDE * (head - 1), y = TOP + STRIDE * (layer - 1);
      renderer.cells(x, y, side * drawn.columns, side * drawn.rows, drawn, colours);
      if (layer === 1) renderer.text(x + SIDE / 2, 15, headTold(head), { ...label, align: "center" });
      if (head === 1) renderer.text(52, y + SIDE / 2, layerTold(layer), { ...label, align: "right" });
    }
  }

  // Thumbnails of an image's heads depend on what is pointed at.
  redraw() {
    const colours = this.coloursOnScreen(), canvases = this.thumbnails.querySelectorAll("canvas");
    this.heads.forEach((one, number) => pixels(this.drawnOf(one), colours, canvases[number]));
  }

  #fillThumbnails(columns) {
    const colours = this.coloursOnScreen(), axis = (text) => make("span", { class: "axis", text });
    this.thumbnails.style.setProperty("--heads", columns);
    const cells = [make("span"), ...Array.from({ length: columns }, (_, head) => axis(headTold(head + 1)))];
    for (const one of this.heads) {
      const { layer, head } = one, name = `${layerTold(layer)}, ${headTold(head)}`;
      const told = this.toldOf(one);
      if (head === 1) cells.push(axis(layerTold(layer)));
      cells.push(make("button", {
        class: this.#isChosen(one) ? "thumbnail chosen" : "thumbnail", "data-layer": layer, "data-head": head,
        "aria-label": `${name}: ${told}; ${say("enlarge")}`, title: `${name}: ${told}`,
        onclick: () => this.#choose(one, this.opens),
      }, pixels(this.drawnOf(one), colours)));
    }
    this.thumbnails.replaceChildren(...cells);
  }

  #isChosen({ layer, head }) {
    const { settings } = this.state;
    return settings.layer === layer && settings.heads.includes(head - 1);
  }

  #choose({ layer, head }, tab) {
    const { combine } = this.state.settings;
    this.state.set({ layer, heads: [head - 1], combine: combine === "rollout" ? "mean" : combine, tab });
  }

  #fillTable() {
    const isWorth = this.heads.some((one) => one.lost !== undefined);
    const columns = [...this.columns(), ...(isWorth ? columnsOfWorth() : [])];
    const { by, isUp } = this.sorted, order = (one, other) => (isUp ? 1 : -1) * (one[by] - other[by]);
    const heads = columns.map(([name, text, , meaning]) => {
      const direction = by !== name ? "none" : isUp ? "ascending" : "descending";
      const button = make("button", {
        text, ...explained(meaning), "data-sort": name, onclick: () => this.#sort(name),
      });
      return make("th", { scope: "col", "aria-sort": direction }, button);
    });
    const rows = (by ? [...this.heads].sort(order) : this.heads).map((one) => {
      const choose = () => this.#choose(one, "heads");
      return make("tr", {
        class: this.#isChosen(one) ? "chosen" : "", tabindex: 0,
        onclick: choose, onkeydown: (event) => event.key === "Enter" && choose(),
      }, ...columns.map(([name, , digits]) => cellOf(one[name], digits)));
    });
    this.table.replaceChildren(make("table", {},
      make("caption", { class: "visually-hidden", text: say("measures of the heads") }),
      make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows)));
  }

  #sort(name) {
    this.sorted = { by: name, isUp: this.sorted.by === name ? !this.sorted.isUp : name !== "lost" };
    this.#fillTable();
    this.table.querySelector(`[data-sort=${name}]`).focus();
  }
}

function layerTold(number) {
  return say("layer {number}", { number });
}

function headTold(number) {
  return say("head {number}", { number });
}

function cellOf(value, digits) {
  return make("td", { text: value === undefined ? "" : decimal(value, digits) });
}
