// Step by step: for one layer, head and word, the numbers of that very forward pass, one stage at a time.
import { attentionOf } from "./arithmetic.js";
import { css, inkOn, signedColours, weightColours } from "./colour.js";
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { Panel } from "./panel.js";
import { itemsOf } from "./record.js";
import { explanationOf, nameOf, STAGES } from "./stages.js";

const HINT = "Point at a strip of colours for a number; click it for all of them.";
const NO_DETAILS = "No queries, keys and values are kept here: explain(…, details=True) keeps them, "
  + "but not those inside windows, and a page leaves out what is too much.";

export class StepByStep extends Panel {
  // Queries and keys are words, or patches with names of their own.
  constructor(host, state, { thing = "word", things = "words", named = (item) => item.shown } = {}) {
    super(host, state, "steps");
    Object.assign(this, { thing, things, named });
    this.stage = 0;
  }

  show() {
    const { run, settings, selection, pointed, pinned } = this.state;
    const map = selection.maps[Math.max(settings.layer, 1) - 1];
    if (!map) return this.showNote(run.note);
    if (!map.details) return this.showNote(NO_DETAILS);
    if (!selection.queries.length) return this.showNote(`There is no ${this.thing} here.`);
    const item = selection.queries[pointed?.side === "query" ? pointed.place : pinned ?? 0];
    const head = settings.heads[0] ?? 0, [token] = item.tokens;
    this.attention = attentionOf(map, head, token);
    this.keys = itemsOf(run.sides[map.keys], false).map(this.named);
    this.query = this.named(itemsOf(run.sides[map.queries], false)[token]);
    this.readout = make("p", { class: "readout", text: HINT });
    this.all = make("p", { class: "all-numbers", hidden: true, tabindex: 0 });
    const where = `“${this.query}” in ${settings.kind} layer ${map.number}, head ${head + 1}`;
    const first = item.tokens.length > 1 ? ` The first subword of “${this.named(item)}”.` : "";
    const isChosen = settings.layer && settings.heads.length === 1;
    const about = { query: this.query, heads: map.heads, thing: this.thing, things: this.things };
    const text = explanationOf(STAGES[this.stage], this.attention, about);
    this.host.replaceChildren(
      make("p", { class: "where" }, make("strong", { text: where }),
        `.${first}${isChosen ? "" : " Choose another layer and head above."}`),
      this.#stepper(), make("p", { class: "remark", "aria-live": "polite", text }),
      this.readout, this.all, ...this.#body(map.heads, head));
  }

  light() {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.show());
  }

  #go(stage) {
    this.stage = Math.max(0, Math.min(STAGES.length - 1, stage));
    this.show();
    this.host.querySelector(".stages [aria-current]")?.focus();
  }

  #stepper() {
    const last = STAGES.length - 1, { stage } = this;
    const stages = STAGES.map((name, number) => make("li", {}, make("button", {
      class: number <= stage ? "done" : "", "aria-current": number === stage ? "step" : null,
      text: nameOf(name, this.attention), "data-stage": name, onclick: () => this.#go(number),
    })));
    const button = (text, by, disabled) => make("button", {
      class: "plain-button", text, disabled, "data-next": by > 0, onclick: () => this.#go(stage + by),
    });
    return make("div", { class: "stepper" }, button("← Back", -1, stage === 0),
      make("ol", { class: "stages" }, ...stages), button("Next →", 1, stage === last));
  }

  #body(heads, head) {
    const { attention } = this, has = (name) => this.stage >= STAGES.indexOf(name);
    const vectors = largest(attention.query, ...attention.keys.map((one) => one.key));
    const values = largest(attention.sum, ...attention.keys.map(weighted));
    const body = [this.#strip("q", `q of ${this.query}`, attention.query, vectors, this.stage === 0)];
    if (has("keys")) body.push(this.#table(has, vectors, values));
    if (has("sum")) {
      const isNew = STAGES[this.stage] === "sum";
      body.push(this.#strip("Σ", `sum of head ${head + 1}`, attention.sum, values, isNew));
    }
    if (has("output")) {
      const joined = attention.sums.flatMap((sum) => [...sum]);
      if (heads > 1) body.push(this.#strip("heads", "heads side by side", joined, largest(joined), true));
      const { output } = attention;
      body.push(this.#strip("output", `output for ${this.query}`, output, largest(output), true));
    }
    return body;
  }

  #strip(caption, name, numbers, most, isNew) {
    return make("div", { class: isNew ? "vector new" : "vector" },
      make("span", { class: "caption", text: caption }), this.#canvas(name, numbers, most));
  }

  #canvas(name, numbers, most) {
    const first = Array.from(numbers.slice(0, 4), (value) => decimal(value, 2)).join(", ");
    const canvas = make("canvas", { class: "numbers", role: "img", "aria-label": `${name}: ${first}, …` });
    canvas.width = numbers.length;
    canvas.height = 1;
    const context = canvas.getContext("2d"), colours = signedColours(most);
    numbers.forEach((value, place) => {
      context.fillStyle = css(colours(value));
      context.fillRect(place, 0, 1, 1);
    });
    canvas.addEventListener("pointermove", (event) => {
      const at = Math.floor((event.offsetX / canvas.clientWidth) * numbers.length);
      const place = Math.min(numbers.length - 1, Math.max(0, at));
      this.readout.textContent = `${name}, number ${place + 1} of ${numbers.length}: ${decimal(numbers[place])}`;
    });
    canvas.addEventListener("click", () => {
      this.all.hidden = false;
      this.all.textContent = `${name} = [${Array.from(numbers, (value) => value.toFixed(3)).join(", ")}]`;
    });
    return canvas;
  }

  #table(has, vectors, values) {
    const colours = weightColours(), columns = STAGES.slice(1, 7).filter(has), current = STAGES[this.stage];
    const cell = (name, one, key) => ({
      keys: () => make("td", {}, this.#canvas(`k of ${key}`, one.key, vectors)),
      scores: () => make("td", { text: decimal(one.score) }),
      scaled: () => make("td", { text: decimal(one.scaled) }),
      mask: () => make("td", { text: one.isAllowed ? "✓" : "−∞" }),
      softmax: () => make("td", {
        class: "weight", "data-weight": one.weight, text: decimal(one.weight, 4),
        style: `background: ${css(colours(one.weight))}; color: ${inkOn(one.weight)}`,
      }),
      values: () => make("td", {}, this.#canvas(`weight · v of ${key}`, weighted(one), values)),
    })[name]();
    const heads = columns.map((name) => {
      const text = nameOf(name, this.attention);
      return make("th", { scope: "col", class: name === current ? "new" : "", text });
    });
    const rows = this.attention.keys.map((one, place) => {
      const key = this.keys[place];
      return make("tr", { class: one.isAllowed || !has("mask") ? "" : "masked" },
        make("th", { scope: "row", text: key }), ...columns.map((name) => cell(name, one, key)));
    });
    const head = make("tr", {}, make("th", { scope: "col", text: this.thing }), ...heads);
    const table = make("table", { class: "keys" }, make("thead", {}, head), make("tbody", {}, ...rows));
    return make("div", { class: "scrolls" }, table);
  }
}

function weighted({ value, weight }) {
  return Array.from(value, (number) => number * weight);
}

function largest(...arrays) {
  let most = 0;
  for (const array of arrays) for (const value of array) most = Math.max(most, Math.abs(value));
  return most;
}
