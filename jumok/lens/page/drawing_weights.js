// What cells of a drawing looked at: words of the text, marks around it, cells drawn before them.
import { columnOf, rowOf } from "./weights.js";

// The keys of a selection in three groups, by their places; cells follow the mark behind which an image begins.
export function partsOf({ keys, run }) {
  const texts = keys.filter(({ tokens }) => tokens[0] < run.tokens).length, all = keys.map((_, place) => place);
  const isMark = (place) => place === texts || isEdge(keys[place].label);
  return {
    texts, first: texts + 1, // the place of the first cell among the keys
    words: all.slice(0, texts).filter((place) => !isMark(place)),
    marks: all.slice(0, texts + 1).filter(isMark),
    cells: all.slice(texts + 1),
  };
}

function isEdge(label) {
  return label === "[START]" || label === "[END]";
}

export function sumOf(weights, places) {
  return places.reduce((sum, place) => sum + weights[place], 0);
}

// How much each cell looked at a key, a word or an earlier cell; among: "words" counts only what it gave to words.
export function cellsLookingAt(selection, key, among) {
  const { matrix } = selection, found = columnOf(matrix, key), { words } = partsOf(selection);
  if (among !== "words" || !words.includes(key)) return found;
  return found.map((weight, cell) => weight / (sumOf(rowOf(matrix, cell), words) || 1));
}

// How much a cell looked at each cell of the grid: nothing from itself on.
export function cellsLookedAt({ matrix, queries, ...rest }, cell) {
  const row = rowOf(matrix, cell), { first } = partsOf({ queries, ...rest });
  return Float64Array.from(queries, (_, place) => row[first + place] ?? 0);
}

// The maps of all words (words × cells) as a caption's words have them.
export function wordMaps(selection, among) {
  const { words } = partsOf(selection), columns = selection.queries.length;
  const values = new Float64Array(words.length * columns);
  words.forEach((key, row) => values.set(cellsLookingAt(selection, key, among), row * columns));
  return { rows: words.length, columns, values };
}

// Cells between a cell and those it looked at, a mean over what was given to cells.
export function reachOf({ matrix, parts, columns }) {
  let distance = 0, all = 0;
  for (let cell = 0; cell < matrix.rows; cell++) {
    const row = rowOf(matrix, cell);
    parts.cells.forEach((key, place) => {
      const down = Math.floor(cell / columns) - Math.floor(place / columns);
      distance += row[key] * Math.hypot(down, (cell % columns) - (place % columns));
      all += row[key];
    });
  }
  return all ? distance / all : 0;
}
