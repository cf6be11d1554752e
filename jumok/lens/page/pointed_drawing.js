// What is pointed at, told beside a drawing: a cell with its code and what it looked at, or a word with its cells.
import { bars } from "./bars.js";
import { cellsLookedAt, cellsLookingAt, partsOf, sumOf } from "./drawing_weights.js";
import { explained, make } from "./elements.js";
import { percent } from "./formats.js";
import { gridOf, nameOf } from "./patch_grid.js";
import { cutOut } from "./pointed_patch.js";
import { say } from "./texts.js";
import { meanRow, rowOf } from "./weights.js";

const CELLS = 5, WORDS = 5, RIVALS = 3;

export function showPointedDrawing(host, selection, pointed, among) {
  if (!pointed) {
    const text = say("Point at a cell to see what it looked at, or at a word to see which cells looked at it.");
    const told = say("All cells together, on average:");
    host.replaceChildren(make("p", { class: "hint", text }), make("h3", { text: told }),
      ...divided(selection, meanRow(selection.matrix)));
    return;
  }
  const isLooked = pointed.side === "key", isWord = isLooked && pointed.place < partsOf(selection).first;
  host.replaceChildren(...(isWord ? wordTold(selection, pointed.place, among)
    : isLooked ? lookedAtTold(selection, pointed.place) : cellTold(selection, pointed.place)));
}

function cellTold(selection, cell) {
  const { run, keys, matrix } = selection, row = rowOf(matrix, cell), parts = partsOf(selection);
  const words = ranked(parts.words.map((place) => [keys[place].shown, row[place]])).slice(0, WORDS);
  const cells = cellRows(selection, cellsLookedAt(selection, cell));
  return [
    ...heading(selection, cell),
    ...divided(selection, row),
    ...(words.length ? [make("h3", { text: say("words it looked at") }), bars(words, "weights", words[0][1])] : []),
    ...(cells.length ? [make("h3", { text: say("earlier cells it looked at (row, column)") }),
      bars(cells, "weights", cells[0][1])] : []),
    ...rivalsOf(run.choices[cell]),
  ];
}

function lookedAtTold(selection, place) {
  const { first } = partsOf(selection), cells = cellRows(selection, cellsLookingAt(selection, place, "all"));
  return [
    ...heading(selection, place - first),
    make("h3", { text: say("later cells that looked at it (row, column)") }),
    bars(cells, "weights", cells[0]?.[1]),
  ];
}

function wordTold(selection, place, among) {
  const { keys, matrix } = selection, cells = cellRows(selection, cellsLookingAt(selection, place, among));
  const share = percent(meanRow(matrix)[place]);
  const counted = among === "words" && partsOf(selection).words.includes(place);
  return [
    make("h2", { class: "pointed-name", text: keys[place].shown }),
    make("p", { class: "likely", text: say("{share} of all cells' attention", { share }) }),
    make("h3", { text: counted ? say("cells that looked at it, of what they gave to words (row, column)")
      : say("cells that looked at it (row, column)") }),
    bars(cells, "weights", cells[0]?.[1]),
  ];
}

function heading(selection, cell) {
  const { run, queries } = selection, { token, probability } = run.choices[cell];
  const grid = gridOf({ ...selection, keys: queries });
  const likely = say("code {code}, {share} likely", { code: token, share: percent(probability) });
  return [make("div", { class: "pointed-cell" }, cutOut(cell, grid), make("div", {},
    make("h2", { class: "pointed-name", text: nameOf(queries[cell].label) }),
    make("p", { class: "likely", text: likely })))];
}

// One bar: how much went to words, to earlier cells, to the marks around the text.
function divided(selection, row) {
  const { words, cells, marks } = partsOf(selection);
  const title = say("Marks stand around the text and before the image; heads with nothing to do rest on them");
  const all = [
    { own: "on-words", name: say("words"), share: sumOf(row, words) },
    { own: "on-cells", name: say("earlier cells"), share: sumOf(row, cells) },
    { own: "on-marks", name: say("marks"), share: sumOf(row, marks), title },
  ];
  return [
    make("div", { class: "divided", "aria-hidden": "true" },
      ...all.map(({ own, share }) => make("span", { class: own, style: `width: ${100 * share}%` }))),
    make("p", { class: "divided-told" }, ...all.map(({ own, name, share, title: told = "" }) => make("span", {
      class: own, "data-share": share, text: `${name} ${percent(share, 0)}`, ...explained(told),
    }))),
  ];
}

function rivalsOf({ token, probability, rivals }) {
  const title = say("What the model might have drawn instead, with its probability");
  const named = (code) => say("code {code}", { code });
  const rows = rivals.slice(0, RIVALS).map(([code, share]) => [named(code), share]);
  return [
    make("h3", { text: say("its code and its rivals"), ...explained(title) }),
    bars([[named(token), probability, "chosen"], ...rows], "rivals"),
  ];
}

// The cells of the largest weights, each cut out of the image.
function cellRows(selection, weights) {
  const { queries } = selection, grid = gridOf({ ...selection, keys: queries });
  const found = ranked(queries.map(({ label }, cell) => (
    [[cutOut(cell, grid), label.replace(",", ", ")], weights[cell]])));
  return found.filter(([, weight]) => weight > 0).slice(0, CELLS);
}

function ranked(rows) {
  return rows.sort(([, one], [, other]) => other - one);
}

// What a screen reader says; nobody sees it.
export function spokenOfDrawing(selection, pointed, among) {
  if (!pointed) return "";
  const { keys, queries, run, matrix } = selection, { first, words } = partsOf(selection);
  const list = (rows) => ranked(rows).slice(0, 3).map(([name, share]) => `${name} ${percent(share, 0)}`).join(", ");
  if (pointed.side === "query") {
    const row = rowOf(matrix, pointed.place), { probability } = run.choices[pointed.place];
    const values = { word: nameOf(queries[pointed.place].label), share: percent(probability, 0) };
    const found = list(words.map((place) => [keys[place].shown, row[place]]));
    return say("{word}. Looks at {found}.", { word: say("{word}, probability {share}", values), found });
  }
  const weights = cellsLookingAt(selection, pointed.place, among), isWord = pointed.place < first;
  const word = isWord ? keys[pointed.place].shown : nameOf(keys[pointed.place].label);
  return say("{word}. Is looked at by {found}.", {
    word, found: list(queries.map(({ label }, cell) => [nameOf(label), weights[cell]])),
  });
}
