// The word pointed at, told beside the sentence: how likely it was, its rivals, its strongest weights as numbers.
import { bars } from "./bars.js";
import { explained, make } from "./elements.js";
import { percent } from "./formats.js";
import { readableLabels } from "./labels.js";
import { say } from "./texts.js";
import { weightsOf } from "./weights.js";

const STRONGEST = 6;

export function showPointedWord(host, selection, pointed) {
  host.classList.toggle("told", Boolean(pointed));
  if (!pointed) {
    const text = selection.matrix
      ? say("Point at a word to see where it looks. Click, or press Enter, to pin it; the arrow keys walk.")
      : say("Point at a word to see how likely it was and what else it might have been.");
    host.replaceChildren(make("p", { class: "hint", text }));
    return;
  }
  const item = itemOf(selection, pointed);
  const children = [make("h2", { class: "pointed-name", text: item.shown })];
  if (isWritten(selection, pointed)) children.push(...choicesOf(selection.run, item));
  if (selection.matrix) {
    const rows = strongest(selection, pointed).slice(0, STRONGEST).map(({ shown, weight }) => [shown, weight]);
    const verb = pointed.side === "query" ? say("looks at") : say("is looked at by");
    children.push(make("h3", { text: verb }), bars(rows, "weights"));
  }
  host.replaceChildren(...children);
}

// What a screen reader says; nobody sees it.
export function spokenOf(selection, pointed) {
  if (!pointed) return "";
  const item = itemOf(selection, pointed), { run, matrix } = selection, word = item.shown;
  const share = isWritten(selection, pointed) ? probabilityOf(run, item) : null;
  const told = share === null ? word : say("{word}, probability {share}", { word, share: percent(share, 0) });
  if (!matrix) return told;
  const three = strongest(selection, pointed).slice(0, 3);
  const found = three.map(({ shown, weight }) => `${shown} ${percent(weight, 0)}`).join(", ");
  const values = { word: told, found };
  return pointed.side === "query"
    ? say("{word}. Looks at {found}.", values) : say("{word}. Is looked at by {found}.", values);
}

// Whether the model chose a word, or a part of it: what it was given is not its choice.
export function isDecided(run, item) {
  return item.tokens.some((token) => run.choices[token]);
}

// The probability of a word's tokens together, or null where none of them was decided.
export function probabilityOf(run, item) {
  const choices = item.tokens.map((token) => run.choices[token]).filter(Boolean);
  return choices.length ? choices.reduce((product, { probability }) => product * probability, 1) : null;
}

function itemOf({ queries, keys }, { side, place }) {
  return (side === "query" ? queries : keys)[place];
}

function isWritten(selection, pointed) {
  return (pointed.side === "query" || selection.isOneSide) && selection.writes;
}

function strongest({ matrix, keys, queries }, pointed) {
  const weights = weightsOf(matrix, pointed), items = pointed.side === "query" ? keys : queries;
  const found = items.map((item, place) => ({ shown: item.shown, weight: weights[place] }));
  return found.sort((one, other) => other.weight - one.weight);
}

// The tokens of a word with their rivals.
export function choicesOf(run, item) {
  const choices = item.tokens.map((token) => run.choices[token]).filter(Boolean), isOne = choices.length === 1;
  if (!choices.length) return [];
  const share = percent(probabilityOf(run, item)), names = readableLabels(choices.map(({ token }) => token));
  const likely = isOne ? say("{share} likely", { share }) : say("{share} likely, all its pieces together", { share });
  const title = say("What the model might have written instead, with its probability");
  const lists = choices.flatMap(({ probability, rivals }, place) => {
    const text = isOne ? say("it and its rivals") : say("{token} and its rivals", { token: names[place] });
    return [
      make("h3", { text, ...explained(title) }), bars([[names[place], probability, "chosen"], ...rivals], "rivals")];
  });
  return [make("p", { class: "likely", text: likely }), ...lists];
}
