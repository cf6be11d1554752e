// Beside the sentence: the word pointed at, how likely it was, its rivals, and the strongest weights as numbers.
import { make, percent } from "./build.js";
import { columnOf, rowOf } from "./weights.js";

const STRONGEST = 6;

export function showBeside(host, seen, pointed) {
  if (!pointed) {
    host.replaceChildren(make("p", { class: "hint", text: seen.grid
      ? "Point at a word to see where it looks. Click, or press Enter, to pin it; the arrow keys walk."
      : "Point at a word to see how likely it was and what else it might have been." }));
    return;
  }
  const item = (pointed.side === "query" ? seen.queries : seen.keys)[pointed.place];
  const parts = [make("h2", { class: "told", text: item.shown })];
  if (pointed.side === "query" && seen.writes) parts.push(...choicesOf(seen.run, item));
  if (seen.grid) parts.push(...weightsOf(seen, pointed));
  host.replaceChildren(...parts);
}

// What a screen reader hears, and nobody else.
export function spokenOf(seen, pointed) {
  if (!pointed) return "";
  const item = (pointed.side === "query" ? seen.queries : seen.keys)[pointed.place];
  const likely = pointed.side === "query" && seen.writes ? `, probability ${percent(probabilityOf(seen.run, item), 0)}` : "";
  if (!seen.grid) return `${item.shown}${likely}`;
  const found = strongest(seen, pointed).slice(0, 3).map(({ shown, weight }) => `${shown} ${percent(weight, 0)}`).join(", ");
  return `${item.shown}${likely}. ${pointed.side === "query" ? "Looks at" : "Is looked at by"} ${found}.`;
}

export function probabilityOf(run, item) {
  return item.tokens.reduce((product, token) => product * (run.choices[token]?.probability ?? 1), 1);
}

function strongest(seen, { side, place }) {
  const weights = side === "query" ? rowOf(seen.grid, place) : columnOf(seen.grid, place);
  const items = side === "query" ? seen.keys : seen.queries;
  return items.map((item, number) => ({ shown: item.shown, weight: weights[number] })).sort((one, other) => other.weight - one.weight);
}

function weightsOf(seen, pointed) {
  const rows = strongest(seen, pointed).slice(0, STRONGEST);
  return [make("h3", { text: pointed.side === "query" ? "looks at" : "is looked at by" }), bars(rows.map(({ shown, weight }) => [shown, weight]), "weights")];
}

function choicesOf(run, item) {
  const pieces = item.tokens.map((token) => run.choices[token]).filter(Boolean);
  if (!pieces.length) return [];
  const parts = [];
  if (pieces.length > 1) parts.push(make("p", { class: "likely", text: `${percent(probabilityOf(run, item))} likely: its pieces together` }));
  for (const { token, probability, rivals } of pieces) {
    if (pieces.length === 1) parts.push(make("p", { class: "likely", text: `${percent(probability)} likely` }));
    const rows = [[token, probability, "chosen"], ...rivals];
    parts.push(make("h3", { text: pieces.length > 1 ? `${token} and its rivals` : "it and its rivals" }), bars(rows, "rivals"));
  }
  return parts;
}

// The mark of a space stands back behind the letters; a label may also be elements already.
function marked(label) {
  if (typeof label !== "string") return label;
  return label.split(/(▁)/).filter(Boolean).map((part) => (part === "▁" ? make("span", { class: "mark", text: part }) : part));
}

// most: what a whole bar stands for.
export function bars(rows, name, most = 1) {
  return make("ul", { class: `bars ${name}` }, ...rows.map(([label, share, kind = ""]) =>
    make("li", { class: kind }, make("span", { class: "label" }, ...marked(label)), make("span", { class: "bar", style: `--share: ${Math.min(share / (most || 1), 1)}` }), make("span", { class: "number", text: percent(share) }))));
}
