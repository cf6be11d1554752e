// The word pointed at, told beside the sentence: how likely it was, its rivals, its strongest weights as numbers.
import { bars } from "./bars.js";
import { make } from "./elements.js";
import { percent } from "./formats.js";
import { weightsOf } from "./weights.js";

const STRONGEST = 6;

export function showPointedWord(host, selection, pointed) {
  if (!pointed) {
    const text = selection.matrix
      ? "Point at a word to see where it looks. Click, or press Enter, to pin it; the arrow keys walk."
      : "Point at a word to see how likely it was and what else it might have been.";
    host.replaceChildren(make("p", { class: "hint", text }));
    return;
  }
  const item = itemOf(selection, pointed);
  const children = [make("h2", { class: "pointed-name", text: item.shown })];
  if (isWritten(selection, pointed)) children.push(...choicesOf(selection.run, item));
  if (selection.matrix) {
    const rows = strongest(selection, pointed).slice(0, STRONGEST).map(({ shown, weight }) => [shown, weight]);
    const verb = pointed.side === "query" ? "looks at" : "is looked at by";
    children.push(make("h3", { text: verb }), bars(rows, "weights"));
  }
  host.replaceChildren(...children);
}

// What a screen reader says; nobody sees it.
export function spokenOf(selection, pointed) {
  if (!pointed) return "";
  const item = itemOf(selection, pointed), { run, matrix } = selection;
  const isChosen = isWritten(selection, pointed) && isDecided(run, item);
  const likely = isChosen ? `, probability ${percent(probabilityOf(run, item), 0)}` : "";
  if (!matrix) return `${item.shown}${likely}`;
  const three = strongest(selection, pointed).slice(0, 3);
  const found = three.map(({ shown, weight }) => `${shown} ${percent(weight, 0)}`).join(", ");
  return `${item.shown}${likely}. ${pointed.side === "query" ? "Looks at" : "Is looked at by"} ${found}.`;
}

// Whether the model chose a word, or a part of it: what it was given is not its choice.
export function isDecided(run, item) {
  return item.tokens.some((token) => run.choices[token]);
}

export function probabilityOf(run, item) {
  return item.tokens.reduce((product, token) => product * (run.choices[token]?.probability ?? 1), 1);
}

function itemOf({ queries, keys }, { side, place }) {
  return (side === "query" ? queries : keys)[place];
}

function isWritten(selection, pointed) {
  return pointed.side === "query" && selection.writes;
}

function strongest({ matrix, keys, queries }, pointed) {
  const weights = weightsOf(matrix, pointed), items = pointed.side === "query" ? keys : queries;
  const found = items.map((item, place) => ({ shown: item.shown, weight: weights[place] }));
  return found.sort((one, other) => other.weight - one.weight);
}

// The tokens of a word with their rivals.
function choicesOf(run, item) {
  const choices = item.tokens.map((token) => run.choices[token]).filter(Boolean), isOne = choices.length === 1;
  if (!choices.length) return [];
  const likely = `${percent(probabilityOf(run, item))} likely${isOne ? "" : " (all its subwords together)"}`;
  const lists = choices.flatMap(({ token, probability, rivals }) => [
    make("h3", { text: isOne ? "it and its rivals" : `${token} and its rivals` }),
    bars([[token, probability, "chosen"], ...rivals], "rivals"),
  ]);
  return [make("p", { class: "likely", text: likely }), ...lists];
}
