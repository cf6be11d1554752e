// The row of controls above a sentence or an image: run, attention, layer, heads, words or subwords, the end token.
import { headColour } from "./colour.js";
import { make } from "./elements.js";
import { KIND_NAMES } from "./selection.js";

export function showControls(host, state) {
  const { run, runs, settings, selection } = state;
  const active = host.contains(document.activeElement) ? document.activeElement : null;
  const focused = active && { name: active.name, value: active.value };
  const controls = [];
  if (runs.length > 1) {
    const names = runs.map((one, value) => ({ value, text: one.name }));
    controls.push(radios(state.runsName, { name: "run", options: names, value: settings.run, choose: state.set }));
  }
  if (run.kinds.length) controls.push(...attentionControls(state));
  if (run.sides.some((side) => side.inWords)) {
    const options = [{ value: true, text: "words" }, { value: false, text: "subwords" }];
    controls.push(radios("show", { name: "words", options, value: settings.words, choose: state.set }));
  }
  const labels = [...(selection.keySide?.labels ?? []), ...selection.querySide.labels];
  if (selection.matrix && labels.includes("[END]")) controls.push(endControl(state));
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
    return make("label", { title: option.title }, input, make("span", { text: option.text }));
  });
  return strip(label, "radiogroup", inputs);
}

function strip(label, role, inputs) {
  return make("div", { class: "control" },
    make("span", { class: "caption", text: label, "aria-hidden": "true" }),
    make("div", { class: "strip", role, "aria-label": label }, ...inputs));
}

function attentionControls({ run, settings, selection, canRollOut, set }) {
  const { kind, layer, combine } = settings, { maps } = selection, isRollout = combine === "rollout";
  const kinds = run.kinds.map((value) => ({ value, text: value, title: KIND_NAMES[value] }));
  const layers = Array.from({ length: maps.length + 1 }, (_, value) => (
    { value, text: value ? String(value) : "all", disabled: isRollout }));
  const isSquare = maps.every((map) => map.rows === map.columns) || ["cross", "recurrent"].includes(kind);
  const ways = [{ value: "mean", text: "mean" }, { value: "max", text: "max" }];
  if (canRollOut) {
    const title = "how much of each input arrives through all layers";
    ways.push({ value: "rollout", text: "rollout", title, disabled: !isSquare });
  }
  return [
    kinds.length > 1 ? radios("attention", { name: "kind", options: kinds, value: kind, choose: set }) : null,
    maps.length > 1 ? radios("layer", { name: "layer", options: layers, value: layer, choose: set }) : null,
    headsControl({ settings, maps, set, disabled: isRollout }),
    radios("combined by", { name: "combine", options: ways, value: combine, choose: set }),
  ].filter(Boolean);
}

// Several heads may be chosen; none chosen means all.
function headsControl({ settings, maps, set, disabled }) {
  const count = Math.max(...maps.map((map) => map.heads)), { heads } = settings;
  if (count === 1) return null;
  const checkbox = (value, isChecked, onchange) => {
    const input = make("input", { type: "checkbox", name: "head", value, disabled, onchange });
    input.checked = isChecked;
    return input;
  };
  const all = checkbox("all", !heads.length, () => set({ heads: [] }));
  const labels = [make("label", {}, all, make("span", { text: "all" }))];
  for (let head = 0; head < count; head++) {
    const input = checkbox(head, heads.includes(head), () => {
      const chosen = input.checked ? [...heads, head] : heads.filter((one) => one !== head);
      set({ heads: chosen.sort((one, other) => one - other) });
    });
    const style = `--dot: ${headColour(head)}`;
    labels.push(make("label", { class: "dotted", style }, input, make("span", { text: String(head + 1) })));
  }
  return strip("heads", "group", labels);
}

function endControl({ settings, set }) {
  const box = make("input", { type: "checkbox", name: "hideEnd", onchange: () => set({ hideEnd: box.checked }) });
  box.checked = settings.hideEnd;
  const title = "Leave the end token out; the others share its weight";
  return make("label", { class: "control checkbox", title }, box, "hide the end token");
}
