// What is pointed at, told beside a captioned image: a word with its rivals and places, or a place with its words.
import { bars } from "./bars.js";
import { make } from "./elements.js";
import { percent } from "./formats.js";
import { gridOf, nameOf, strongest } from "./patch_grid.js";
import { cutOut } from "./pointed_patch.js";
import { choicesOf, probabilityOf } from "./pointed_word.js";
import { say } from "./texts.js";
import { columnOf, rowOf } from "./weights.js";

const PLACES = 4, WORDS = 6;

export function showPointed(host, selection, pointed) {
  if (!pointed) {
    const text = selection.matrix
      ? say("Point at a word to see where it looked, or at a place of the image to see which words looked there.")
      : say("Point at a word to see how likely it was and what else it might have been.");
    host.replaceChildren(make("p", { class: "hint", text }));
    return;
  }
  host.replaceChildren(...(pointed.side === "query" ? wordTold(selection, pointed) : placeTold(selection, pointed)));
}

function wordTold(selection, { place }) {
  const { run, queries, matrix } = selection, item = queries[place];
  const name = make("h2", { class: "pointed-name", text: item.shown }), choices = choicesOf(run, item);
  if (!matrix) return [name, ...choices];
  const grid = gridOf(selection), found = strongest(selection, rowOf(matrix, place), PLACES);
  const rows = found.map(({ label, place: cell, weight }) => (
    [[cutOut(cell, grid), label.replace(",", ", ")], weight]));
  const verb = say("looks at");
  const [likely, ...rivals] = choices;
  const places = [make("h3", { text: say("{verb} (row, column)", { verb }) }), bars(rows, "weights", rows[0]?.[1])];
  return [name, likely, ...places, ...rivals].filter(Boolean);
}

function placeTold({ keys, queries, matrix }, { place }) {
  const rows = looking({ queries, matrix }, place, WORDS).map(({ shown, weight }) => [shown, weight]);
  return [
    make("h2", { class: "pointed-name", text: nameOf(keys[place].label) }),
    make("h3", { text: say("words that looked there, and with how much of their attention") }),
    bars(rows, "weights", rows[0]?.[1]),
  ];
}

// The words that looked at a place, most first.
function looking({ queries, matrix }, place, count) {
  const weights = columnOf(matrix, place);
  const found = queries.map(({ shown }, number) => ({ shown, weight: weights[number] }));
  return found.sort((one, other) => other.weight - one.weight).slice(0, count);
}

// What a screen reader says; nobody sees it.
export function spokenOfCaption(selection, pointed) {
  if (!pointed) return "";
  const { run, queries, keys, matrix } = selection;
  if (pointed.side === "key") {
    const words = looking(selection, pointed.place, 3);
    const found = words.map(({ shown, weight }) => `${shown} ${percent(weight, 0)}`).join(", ");
    return say("{word}. Is looked at by {found}.", { word: nameOf(keys[pointed.place].label), found });
  }
  const item = queries[pointed.place], share = probabilityOf(run, item), word = item.shown;
  const told = share === null ? word : say("{word}, probability {share}", { word, share: percent(share, 0) });
  if (!matrix) return told;
  const three = strongest(selection, rowOf(matrix, pointed.place), 3);
  const found = three.map(({ label, weight }) => `${nameOf(label)} ${percent(weight, 0)}`).join("; ");
  return say("{word}. Looks at {found}.", { word: told, found });
}
