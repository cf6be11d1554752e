// Step by step: for one layer, head and word, the numbers of that very forward pass, one stage at a time.
import { attentionOf } from "./arithmetic.js";
import { bars } from "./bars.js";
import { css, inkOn, weightColours } from "./colour.js";
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { kindName } from "./kinds.js";
import { readableLabels } from "./labels.js";
import { layerOf } from "./layer.js";
import { groupsOf } from "./layer_stages.js";
import { matricesOf } from "./matrices.js";
import { Panel } from "./panel.js";
import { itemsOf } from "./record.js";
import { say, translated } from "./texts.js";
import { largestOf, Vectors } from "./vectors.js";

const RESULTS = 6; // tokens or classes that are listed

export class StepByStep extends Panel {
  // Queries and keys are words, or patches with names of their own.
  constructor(host, state, { isPatches = false, named = (item) => item.shown } = {}) {
    super(host, state, "steps");
    Object.assign(this, { isPatches, named, stage: "", isOpen: false });
  }

  show() {
    const { run, selection, pointed, pinned } = this.state, { settings } = selection;
    const map = selection.maps[settings.layer - 1];
    if (!map) return this.showNote(translated(run.note));
    if (!map.details) return this.showNote(noDetails());
    if (!selection.queries.length) return this.showNote(say("There is nothing to look at here."));
    const place = pointed?.side === "query" || selection.isOneSide ? pointed?.place : null;
    const item = selection.queries[place ?? pinned ?? 0] ?? selection.queries[0];
    const head = settings.heads[0] ?? 0, [token] = item.tokens;
    const attention = attentionOf(map, head, token), layer = layerOf(run, map, token);
    const about = this.#about({ map, layer, head, token });
    this.groups = groupsOf(layer, attention, about);
    this.vectors = new Vectors();
    const numbers = [say("layer {number}", { number: map.number }), say("head {number}", { number: head + 1 })];
    const where = [`“${about.query}”`, kindName(run, settings.kind), ...numbers];
    const first = item.tokens.length > 1
      ? ` ${say("This is the first piece of “{word}”.", { word: this.named(item) })}` : "";
    const stages = this.groups.flatMap((group) => group.stages);
    const now = Math.max(0, stages.findIndex(({ name }) => name === this.stage));
    this.stage = stages[now].name;
    this.host.replaceChildren(
      make("p", { class: "where" }, make("strong", { text: where.join(" · ") }), first),
      this.#stepper(stages, now), make("p", { class: "remark", "aria-live": "polite", text: stages[now].text }),
      this.vectors.readout, this.vectors.all, ...this.#body(stages, now, { attention, head }));
  }

  light() {
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => this.show());
  }

  // What sentences and names need to know (layer_stages.js).
  #about({ map, layer, head, token }) {
    const { run } = this.state, nameAt = (side) => this.named(itemsOf(run.sides[side], false)[token]);
    const own = layer?.parts.map((part) => part.map).find((one) => one && one.rows === one.columns);
    const [thing, things] = this.isPatches ? [say("patch"), say("patches")] : [say("token"), say("tokens")];
    this.keys = itemsOf(run.sides[map.keys], false).map(this.named);
    this.thing = thing;
    return {
      query: nameAt(map.queries), read: nameAt(own ? own.keys : map.queries), number: map.number, head, thing, things,
      heads: map.heads, chosen: map, other: say("Choose it above to see how it comes about."),
      ...this.#goal(map, token),
    };
  }

  // What the last layer's vector becomes: tokens with their probabilities, classes, or what a decoder looks at.
  #goal(map, token) {
    const { run } = this.state, choice = map.queries === run.output ? run.choices[token] : null;
    if (choice) {
      const [label] = readableLabels([choice.token]), rows = [[label, choice.probability, "chosen"], ...choice.rivals];
      const goesTo = say("Compared with the vector of every token; softmax then says how likely each is.");
      return { goesTo, result: rows };
    }
    if (run.classes.length) {
      const rows = run.classes.slice(0, RESULTS).map(({ label, probability }, place) => (
        [label, probability, place ? "" : "chosen"]));
      const goesTo = say("Projected to a number for each class; softmax then says how likely each is.");
      return { goesTo, result: rows };
    }
    const isRead = run.maps.some((one) => one.keys === map.queries && one.queries !== map.queries);
    const goesTo = isRead ? say("The decoder makes its keys and values of this.") : say("The last layer's vector.");
    return { goesTo };
  }

  #go(name) {
    this.stage = name;
    this.show();
    this.host.querySelector(".stages [aria-current]")?.focus();
  }

  #stepper(stages, now) {
    const button = (text, by) => make("button", {
      class: "plain-button", text, disabled: !stages[now + by], "data-next": by > 0,
      onclick: () => this.#go(stages[now + by].name),
    });
    const groups = this.groups.map((group) => make("li", {},
      make("span", { class: "caption", text: group.title }),
      make("ol", {}, ...group.stages.map((one) => make("li", {}, make("button", {
        class: stages.indexOf(one) <= now ? "done" : "", "aria-current": one === stages[now] ? "step" : null,
        text: one.title, "data-stage": one.name, onclick: () => this.#go(one.name),
      }))))));
    const back = button(say("← Back"), -1), next = button(say("Next →"), 1);
    return make("div", { class: "stepper" }, make("ol", { class: "stages" }, ...groups),
      make("div", { class: "back-and-next" }, back, next));
  }

  // What went before as one strip for each group; the group that is shown in full, up to its current stage.
  #body(stages, now, { attention, head }) {
    const body = [];
    for (const group of this.groups) {
      const shown = group.stages.filter((one) => stages.indexOf(one) <= now);
      if (!shown.length) break;
      const isCurrent = shown.includes(stages[now]);
      if (!isCurrent) {
        const { numbers, name } = shown.at(-1).strips.at(-1);
        body.push(this.vectors.strip({ caption: group.title, name, numbers }));
        continue;
      }
      const columns = shown.filter((one) => one.isColumn);
      const first = columns.length ? shown.indexOf(columns[0]) : shown.length;
      const strips = (some) => some.filter((one) => !one.isColumn).flatMap((one) => (
        one.strips.map((strip) => this.vectors.strip({ ...strip, isNew: one === stages[now] }))));
      body.push(...strips(shown.slice(0, first)));
      if (columns.length) body.push(this.#table(columns, { attention, current: stages[now] }));
      body.push(...strips(shown.slice(first)));
      if (stages[now].result) body.push(bars(stages[now].result, "results"));
      if (group.part) body.push(this.#matrices(group.part, head));
    }
    return body;
  }

  #matrices(part, head) {
    return matricesOf(part, head, { isOpen: this.isOpen, told: (isOpen) => (this.isOpen = isOpen) });
  }

  #table(stages, { attention, current }) {
    const colours = weightColours(), { vectors } = this;
    const most = largestOf(attention.query, ...attention.keys.map((one) => one.key));
    const mostWeighted = largestOf(attention.sum, ...attention.keys.map(weighted));
    const cell = (name, one, key) => ({
      keys: () => make("td", {}, vectors.canvas(say("k of {word}", { word: key }), one.key, most)),
      scores: () => make("td", { text: decimal(one.score) }),
      scaled: () => make("td", { text: decimal(one.scaled) }),
      mask: () => make("td", { text: one.isAllowed ? "✓" : "−∞" }),
      softmax: () => make("td", {
        class: "weight", "data-weight": one.weight, text: decimal(one.weight, 4),
        style: `background: ${css(colours(one.weight))}; color: ${inkOn(one.weight)}`,
      }),
      values: () => {
        const told = say("weight · v of {word}", { word: key });
        return make("td", {}, vectors.canvas(told, weighted(one), mostWeighted));
      },
    })[name]();
    const classOf = (one) => (one === current ? "new" : "");
    const heads = stages.map((one) => make("th", { scope: "col", class: classOf(one), text: one.title }));
    const hasMask = stages.some(({ name }) => name === "mask");
    const rows = attention.keys.map((one, place) => make("tr", { class: one.isAllowed || !hasMask ? "" : "masked" },
      make("th", { scope: "row", text: this.keys[place] }),
      ...stages.map(({ name }) => cell(name, one, this.keys[place]))));
    const head = make("tr", {}, make("th", { scope: "col", text: this.thing }), ...heads);
    const table = make("table", { class: "keys" }, make("thead", {}, head), make("tbody", {}, ...rows));
    return make("div", { class: "scrolls" }, table);
  }
}

function noDetails() {
  const kept = say("No queries, keys and values are kept here: explain(…, details=True) keeps them.");
  return `${kept} ${say("Those inside windows are not kept, and a page leaves out what is too much.")}`;
}

function weighted({ value, weight }) {
  return Array.from(value, (number) => number * weight);
}
