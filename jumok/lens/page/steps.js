// Step by step: for one layer, head and word, the numbers of that very forward pass, one step at a time.
import { lookOf } from "./arithmetic.js";
import { decimal, make } from "./build.js";
import { css, inkOn, signedColours, weightColours } from "./colour.js";
import { itemsOf } from "./record.js";

const STAGES = ["query", "keys", "scores", "scaled", "mask", "softmax", "values", "sum", "output"];
const NAMES = { query: "q", keys: "k", scores: "q·k", scaled: "÷√d", mask: "mask", softmax: "softmax", values: "weight · v", sum: "Σ", output: "output" };

export class Steps {
  // What looks and is looked at are words, or patches with names of their own.
  constructor(host, state, { thing = "word", named = (item) => item.shown } = {}) {
    Object.assign(this, { state, thing, named });
    this.stage = 0;
    this.host = make("div", { class: "steps" });
    host.append(this.host);
  }

  show() {
    const { run, choice, seen } = this.state;
    const map = seen.maps[Math.max(choice.layer, 1) - 1];
    if (!map?.parts || !seen.queries.length) {
      this.host.replaceChildren(make("p", { class: "note", text: map?.parts ? `There is no ${this.thing} that looks.`
        : map ? "No queries, keys and values are kept here: explain(…, details=True) keeps them, but not those inside windows, and a page leaves out what is too much."
        : run.note }));
      return;
    }
    const { pointed, pinned } = this.state, head = choice.heads[0] ?? 0;
    const item = seen.queries[pointed?.side === "query" ? pointed.place : pinned ?? 0];
    const token = item.tokens[0];
    this.look = lookOf(map, head, token);
    this.keys = itemsOf(run.sides[map.keys], false);
    this.word = this.named(itemsOf(run.sides[map.queries], false)[token]);
    this.readout = make("p", { class: "cell", text: "Point at a strip of colours for a number; click it for all of them." });
    this.all = make("p", { class: "all", hidden: true, tabindex: 0 });
    const where = `“${this.word}” in ${choice.kind} layer ${map.number}, head ${head + 1}`;
    const chosen = choice.layer && choice.heads.length === 1 ? "" : " Choose another layer and head above.";
    const pieces = item.tokens.length > 1 ? ` The first piece of “${this.named(item)}”.` : "";
    this.host.replaceChildren(
      make("p", { class: "where" }, make("strong", { text: where }), `.${pieces}${chosen}`),
      this.#stepper(), make("p", { class: "why", "aria-live": "polite", text: this.#why(map) }), this.readout, this.all, ...this.#body(map, head),
    );
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

  #name(stage) {
    if (stage === "scores" && this.look.isAdditive) return "v·tanh(q+k)";
    return stage === "scaled" && this.look.scale === 1 ? "× 1" : NAMES[stage];
  }

  #stepper() {
    const stages = STAGES.map((stage, number) => make("li", {}, make("button", {
      class: number <= this.stage ? "done" : "", "aria-current": number === this.stage ? "step" : null, text: this.#name(stage), "data-stage": stage, onclick: () => this.#go(number) })));
    return make("div", { class: "stepper" },
      make("button", { class: "plainbutton", text: "← Back", disabled: this.stage === 0, onclick: () => this.#go(this.stage - 1) }),
      make("ol", { class: "stages" }, ...stages),
      make("button", { class: "plainbutton", text: "Next →", disabled: this.stage === STAGES.length - 1, "data-next": true, onclick: () => this.#go(this.stage + 1) }));
  }

  #why(map) {
    const { look, word } = this, hidden = look.looks.filter((one) => !one.allowed).length, d = look.query.length;
    return {
      query: `The state of “${word}” is projected to a query q of ${d} numbers: what it asks for.`,
      keys: `Every ${this.thing} that may be looked at is projected to a key k of ${d} numbers: what it offers.`,
      scores: look.isAdditive ? `A small network compares them: v · tanh(q + k). One number a ${this.thing}.` : `The dot product q · k says how well question and offer agree. One number a ${this.thing}.`,
      scaled: look.scale === 1 ? "This attention does not scale its scores." : `Scores are divided by √${d} ≈ ${decimal(1 / look.scale, 2)}, so that softmax does not saturate as d grows.`,
      mask: hidden ? `${hidden} of ${look.looks.length} ${this.thing === "patch" ? "patches" : "words"} may not be looked at: their scores become −∞.` : "The mask hides nothing here.",
      softmax: "e to the score, divided by the sum of all: weights that add up to 1. These are the numbers of the record.",
      values: `Each ${this.thing}'s value v (${look.looks[0].value.length} numbers: what it has to say) is multiplied by its weight.`,
      sum: "Added up: what this head takes along.",
      output: map.heads > 1 ? `The ${map.heads} heads' sums, side by side, are projected back to ${look.output.length} numbers: the layer's output for “${word}”.`
        : `${look.output.length} numbers: what the layer hands on for “${word}”.`,
    }[STAGES[this.stage]];
  }

  #body(map, head) {
    const { look, stage } = this, at = (name) => stage >= STAGES.indexOf(name);
    const signed = { vector: largest(look.query, ...look.looks.map((one) => one.key)), value: largest(look.sum, ...look.looks.map((one) => Array.from(one.value, (v) => v * one.weight))) };
    const body = [this.#strip("q", `q of ${this.word}`, look.query, signed.vector, stage === 0)];
    if (at("keys")) body.push(this.#table(at, signed));
    if (at("sum")) body.push(this.#strip("Σ", `sum of head ${head + 1}`, look.sum, signed.value, stage === STAGES.indexOf("sum")));
    if (at("output")) {
      const whole = look.joined.flatMap((sum) => [...sum]);
      if (map.heads > 1) body.push(this.#strip("heads", "heads side by side", whole, largest(whole), true));
      body.push(this.#strip("output", `output for ${this.word}`, look.output, largest(look.output), true));
    }
    return body;
  }

  #strip(label, name, numbers, most, isNew) {
    return make("div", { class: isNew ? "vector new" : "vector" }, make("span", { class: "caption", text: label }), this.#canvas(name, numbers, most));
  }

  #canvas(name, numbers, most) {
    const colours = signedColours(most), canvas = make("canvas", { class: "numbers", role: "img", "aria-label": `${name}: ${Array.from(numbers.slice(0, 4), (value) => decimal(value, 2)).join(", ")}, …` });
    canvas.width = numbers.length;
    canvas.height = 1;
    const context = canvas.getContext("2d");
    numbers.forEach((value, place) => { context.fillStyle = css(colours(value)); context.fillRect(place, 0, 1, 1); });
    canvas.addEventListener("pointermove", (event) => {
      const place = Math.min(numbers.length - 1, Math.max(0, Math.floor((event.offsetX / canvas.clientWidth) * numbers.length)));
      this.readout.textContent = `${name}, number ${place + 1} of ${numbers.length}: ${decimal(numbers[place])}`;
    });
    canvas.addEventListener("click", () => {
      this.all.hidden = false;
      this.all.textContent = `${name} = [${Array.from(numbers, (value) => value.toFixed(3)).join(", ")}]`;
    });
    return canvas;
  }

  #table(at, signed) {
    const colours = weightColours(), columns = STAGES.slice(1, 7).filter(at);
    const cell = {
      keys: (one, key) => make("td", {}, this.#canvas(`k of ${this.named(key)}`, one.key, signed.vector)),
      scores: (one) => make("td", { text: decimal(one.score) }),
      scaled: (one) => make("td", { text: decimal(one.scaled) }),
      mask: (one) => make("td", { text: one.allowed ? "✓" : "−∞" }),
      softmax: (one) => make("td", { class: "weight", "data-weight": one.weight, text: decimal(one.weight, 4), style: `background: ${css(colours(one.weight))}; color: ${inkOn(one.weight)}` }),
      values: (one, key) => make("td", {}, this.#canvas(`weight · v of ${this.named(key)}`, Array.from(one.value, (value) => value * one.weight), signed.value)),
    };
    const isNew = STAGES[this.stage];
    const head = make("tr", {}, make("th", { scope: "col", text: this.thing }), ...columns.map((name) => make("th", { scope: "col", class: name === isNew ? "new" : "", text: this.#name(name) })));
    const rows = this.look.looks.map((one, place) => make("tr", { class: one.allowed || !at("mask") ? "" : "hidden" }, make("th", { scope: "row", text: this.named(this.keys[place]) }), ...columns.map((name) => cell[name](one, this.keys[place]))));
    return make("div", { class: "scrolls" }, make("table", { class: "looks" }, make("thead", {}, head), make("tbody", {}, ...rows)));
  }
}

function largest(...arrays) {
  let most = 0;
  for (const array of arrays) for (const value of array) most = Math.max(most, Math.abs(value));
  return most;
}
