// The row of choices above the sentence: kind, layer, heads, manner, words or subwords, the end token.
import { make, segments } from "./build.js";
import { headColour } from "./colour.js";
import { KIND_NAMES } from "./seen.js";

export function showControls(host, state) {
  const { run, runs, choice, seen } = state;
  const active = document.activeElement?.closest?.("#controls") ? document.activeElement : null;
  const remembered = active && { name: active.name, value: active.value };
  const parts = [];
  if (runs.length > 1) parts.push(segments(state.runsAre, "run", runs.map((one, value) => ({ value, text: one.name })), choice.run, (value) => state.set({ run: value })));
  if (run.kinds.length) parts.push(...choices(state));
  if (run.sides.some((side) => side.inWords)) {
    parts.push(segments("pieces", "words", [{ value: true, text: "words" }, { value: false, text: "subwords" }], choice.words, (words) => state.set({ words })));
  }
  if ([...(seen.keySide?.labels ?? []), ...seen.querySide.labels].includes("[END]")) {
    const box = make("input", { type: "checkbox", name: "hideEnd", onchange: () => state.set({ hideEnd: box.checked }) });
    box.checked = choice.hideEnd;
    parts.push(make("label", { class: "control tick", title: "Leave the end token out; the others share its weight" }, box, "hide the end"));
  }
  host.replaceChildren(...parts);
  if (remembered) [...host.querySelectorAll("input")].find((input) => input.name === remembered.name && input.value === remembered.value)?.focus();
}

function choices(state) {
  const { run, choice, seen } = state;
  const numbers = (count) => Array.from({ length: count }, (_, place) => ({ value: place + 1, text: String(place + 1) }));
  const rolled = choice.how === "rollout";
  const kinds = run.kinds.map((kind) => ({ value: kind, text: kind, title: KIND_NAMES[kind] }));
  const layers = [{ value: 0, text: "all" }, ...numbers(seen.maps.length)].map((option) => ({ ...option, disabled: rolled }));
  const square = seen.maps.every((map) => map.rows === map.columns) || ["cross", "recurrent"].includes(choice.kind);
  const manners = [["mean", "mean"], ["max", "max"], ...(state.rolls ? [["rollout", "rollout"]] : [])].map(([value, text]) => ({ value, text, disabled: value === "rollout" && !square, title: value === "rollout" ? "how much of each input arrives through all layers" : "" }));
  return [
    run.kinds.length > 1 ? segments("attention", "kind", kinds, choice.kind, (kind) => state.set({ kind })) : null,
    seen.maps.length > 1 ? segments("layer", "layer", layers, choice.layer, (layer) => state.set({ layer })) : null,
    heads(state, rolled),
    segments("over them", "how", manners, choice.how, (how) => state.set({ how })),
  ].filter(Boolean);
}

// Several heads may be chosen; none chosen means all.
function heads(state, rolled) {
  const { choice, seen } = state;
  const count = Math.max(...seen.maps.map((map) => map.heads));
  if (count === 1) return null;
  const strip = make("div", { class: "strip", role: "group", "aria-label": "heads" });
  const all = make("input", { type: "checkbox", name: "head", value: "all", disabled: rolled, onchange: () => state.set({ heads: [] }) });
  all.checked = !choice.heads.length;
  strip.append(make("label", {}, all, make("span", { text: "all" })));
  for (let head = 0; head < count; head++) {
    const input = make("input", { type: "checkbox", name: "head", value: head, disabled: rolled, onchange: () => {
      const chosen = input.checked ? [...choice.heads, head] : choice.heads.filter((one) => one !== head);
      state.set({ heads: chosen.sort((one, other) => one - other) });
    } });
    input.checked = choice.heads.includes(head);
    strip.append(make("label", { style: `--dot: ${headColour(head)}`, class: "dotted" }, input, make("span", { text: String(head + 1) })));
  }
  return make("div", { class: "control" }, make("span", { class: "caption", text: "heads", "aria-hidden": "true" }), strip);
}
