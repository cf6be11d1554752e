// The row of controls above a sentence or an image: run, attention, layer, heads, words or tokens, the end token.
import { headColour } from "./colour.js";
import { explained, make } from "./elements.js";
import { kindName, kindTitle } from "./kinds.js";
import { say } from "./texts.js";

// The controls that change something under each tab; a page without tabs has them all.
const ALL = ["kind", "layer", "heads", "combine", "words", "side", "end"];
const UNDER = {
  compare: ["kind", "combine", "words", "side", "end"],
  heads: ["kind", "layer", "heads", "words"],
  steps: ["kind", "layer", "heads", "words"],
  strip: ["kind", "layer", "heads", "combine", "words"],
  positions: [],
  answers: [],
};

// also: further controls of a page that are always there.
export function showControls(host, state, also = []) {
  const { run, runs, settings, selection } = state;
  const active = host.contains(document.activeElement) ? document.activeElement : null;
  const focused = active && { name: active.name, value: active.value };
  const shown = [...(UNDER[settings.tab] ?? ALL), ...also], has = (name) => shown.includes(name);
  const controls = [];
  if (runs.length > 1) {
    const names = runs.map((one, value) => ({ value, text: one.name }));
    controls.push(radios(state.runsName(), { name: "run", options: names, value: settings.run, choose: state.set }));
  }
  if (run.kinds.length) controls.push(...attentionControls(state, has));
  if (has("words") && run.sides.some((side) => side.inWords)) controls.push(wordsControl(state));
  if (has("side") && selection.isOneSide) controls.push(sideControl(state));
  const labels = [...(selection.keySide?.labels ?? []), ...selection.querySide.labels];
  const isOfText = !run.grids?.[settings.kind]; // an image has no end
  if (has("end") && selection.matrix && isOfText && labels.includes("[END]")) controls.push(endControl(state));
  host.replaceChildren(...controls);
  if (!focused) return;
  const isSame = (input) => input.name === focused.name && input.value === focused.value;
  [...host.querySelectorAll("input")].find(isSame)?.focus();
}

// A choice of one among a few: radio buttons in a strip. choose({ name: value }) is told the setting.
export function radios(label, { name, options, value, choose }) {
  const inputs = options.map((option) => {
    const { disabled } = option, onchange = () => choose({ [name]: option.value });
    const input = make("input", { type: "radio", name, value: String(option.value), disabled, onchange });
    input.checked = option.value === value;
    return make("label", explained(option.title), input, make("span", { text: option.text }));
  });
  return strip(label, "radiogroup", inputs);
}

function strip(label, role, inputs, title = "") {
  return make("div", { class: "control", ...explained(title) },
    make("span", { class: "caption", text: label, "aria-hidden": "true" }),
    make("div", { class: "strip", role, "aria-label": label }, ...inputs));
}

function attentionControls({ run, settings, selection, canRollOut, set }, has) {
  const isSeveral = selection.maps.length > 1 || selection.maps.some((map) => map.heads > 1);
  const { kind, layer, combine, tab } = settings, { maps } = selection, isOne = tab === "steps"; // one layer, one head
  const isRollout = combine === "rollout" && has("combine");
  const kinds = run.kinds.map((value) => ({ value, text: kindName(run, value), title: kindTitle(value) }));
  const layers = Array.from({ length: maps.length + 1 }, (_, value) => (
    { value, text: value ? String(value) : say("all"), disabled: isRollout })).slice(isOne ? 1 : 0);
  const chosen = isOne ? Math.max(layer, 1) : layer, asked = (name, text, options, value) => (
    radios(text, { name, options, value, choose: set }));
  const title = say("Heads are the parallel looks of a layer; each has weights of its own");
  return [
    has("kind") && kinds.length > 1 ? asked("kind", say("who looks at whom"), kinds, kind) : null,
    has("layer") && maps.length > 1 ? asked("layer", say("layer"), layers, chosen) : null,
    has("heads") ? headsControl({ settings, maps, set, title, isOne, disabled: isRollout }) : null,
    has("combine") && (canRollOut || isSeveral)
      ? asked("combine", say("several shown as"), waysOf({ maps, kind, canRollOut }), combine) : null,
  ].filter(Boolean);
}

// How several layers and heads become one map.
function waysOf({ maps, kind, canRollOut }) {
  const ways = [
    { value: "mean", text: say("average"), title: say("The mean over the chosen layers and heads") },
    { value: "max", text: say("strongest"), title: say("The largest weight among the chosen layers and heads") },
  ];
  const isSquare = maps.every((map) => map.rows === map.columns) || ["cross", "recurrent"].includes(kind);
  const title = say("Attention rollout: how much of each input arrives through all layers, residuals included");
  if (canRollOut) ways.push({ value: "rollout", text: say("through all layers"), title, disabled: !isSquare });
  return ways;
}

// Several heads may be chosen, none chosen means all; isOne: just one can be.
function headsControl({ settings, maps, set, title, isOne, disabled }) {
  const count = Math.max(...maps.map((map) => map.heads)), { heads } = settings;
  if (count === 1) return null;
  const box = (value, isChecked, onchange) => {
    const type = isOne ? "radio" : "checkbox";
    const input = make("input", { type, name: "head", value, disabled, onchange });
    input.checked = isChecked;
    return input;
  };
  const all = box("all", !heads.length, () => set({ heads: [] }));
  const labels = isOne ? [] : [make("label", {}, all, make("span", { text: say("all") }))];
  for (let head = 0; head < count; head++) {
    const isChosen = isOne ? head === (heads[0] ?? 0) : heads.includes(head);
    const input = box(head, isChosen, () => {
      const others = heads.filter((one) => one !== head), chosen = input.checked ? [...others, head] : others;
      set({ heads: isOne ? [head] : chosen.sort((one, other) => one - other) });
    });
    const style = `--dot: ${headColour(head)}`;
    labels.push(make("label", { class: "dotted", style }, input, make("span", { text: String(head + 1) })));
  }
  return strip(isOne ? say("head") : say("heads"), isOne ? "radiogroup" : "group", labels, title);
}

function wordsControl({ run, settings, set }) {
  const tokens = run.characters ? say("characters") : say("subwords");
  const title = say("As the model reads the text, piece by piece");
  const options = [{ value: true, text: say("words") }, { value: false, text: tokens, title }];
  return radios(say("show"), { name: "words", options, value: settings.words, choose: set });
}

// Where a sequence looks at itself: whether a word lights up what it looks at, or what looks at it.
export function sideControl({ settings, set }, caption = say("a word")) {
  const options = [{ value: "query", text: say("looks at") }, { value: "key", text: say("is looked at by") }];
  return radios(caption, { name: "side", options, value: settings.side, choose: set });
}

function endControl({ settings, set }) {
  const box = make("input", { type: "checkbox", name: "hideEnd", onchange: () => set({ hideEnd: box.checked }) });
  box.checked = settings.hideEnd;
  const title = say("Heads with nothing to do rest on the end token; without it the others share its weight");
  return make("label", { class: "control checkbox", ...explained(title) }, box, say("hide the end token"));
}
