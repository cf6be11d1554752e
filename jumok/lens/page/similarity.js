// How alike positions are: the cosine of every two rows of a table, as one map or, for patches, a grid of small maps.
import { styleOf } from "./colour.js";
import { decimal } from "./formats.js";
import { say } from "./texts.js";

const SMALLEST = 4, LARGEST = 8, GAP = 3; // pixels: a cell's side, the space between two small maps
const SIDES = 24, EVERY = 8; // pixels beside a map for numbers, one for so many positions

// A matrix of cosines; a row of zeros is like nothing.
export function cosinesOf({ shape: [rows, columns], values }) {
  const at = (row) => values.subarray(row * columns, (row + 1) * columns);
  const lengths = Array.from({ length: rows }, (_, row) => Math.hypot(...at(row)) || 1);
  const found = new Float32Array(rows * rows);
  for (let one = 0; one < rows; one++) {
    const own = at(one);
    for (let other = 0; other <= one; other++) {
      const its = at(other);
      let sum = 0;
      for (let column = 0; column < columns; column++) sum += own[column] * its[column];
      found[one * rows + other] = found[other * rows + one] = sum / (lengths[one] * lengths[other]);
    }
  }
  return { rows, columns: rows, values: found };
}

// One map: a row and a column for each position.
export class SimilarityMap {
  constructor(cosines, width) {
    this.cosines = cosines;
    this.side = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((width - SIDES) / cosines.rows)));
  }

  get size() {
    const length = SIDES + this.side * this.cosines.rows;
    return { width: length, height: length };
  }

  draw(renderer, { left, top }, colours) {
    const { side, cosines } = this, length = side * cosines.rows, look = { colour: styleOf("quiet"), size: 11 };
    renderer.cells(left + SIDES, top + SIDES, length, length, cosines, colours);
    for (let position = 0; position < cosines.rows; position += EVERY) {
      const at = SIDES + side * (position + 0.5);
      renderer.text(left + SIDES - 4, top + at, String(position), { ...look, align: "right" });
      renderer.text(left + at, top + SIDES - 9, String(position), { ...look, align: "center" });
    }
  }

  // What stands at a point: two positions, counted from 0, and their cosine.
  at(x, y) {
    const column = Math.floor((x - SIDES) / this.side), row = Math.floor((y - SIDES) / this.side);
    const { rows, values } = this.cosines;
    return column < 0 || row < 0 || column >= rows || row >= rows ? null
      : { one: row, other: column, cosine: values[row * rows + column] };
  }
}

// For each patch a small map of how like it all patches are, laid out as they are (Dosovitskiy et al. 2021, fig. 7).
export class SimilarityGrid {
  constructor(cosines, [rows, columns], width) {
    Object.assign(this, { cosines, rows, columns });
    const side = Math.floor((width / columns - GAP) / columns);
    this.side = Math.max(2, Math.min(2 * LARGEST, side));
    this.across = this.side * columns + GAP;
    this.down = this.side * rows + GAP;
  }

  get size() {
    return { width: this.across * this.columns, height: this.down * this.rows };
  }

  draw(renderer, { left, top }, colours) {
    const { rows, columns, side } = this, count = rows * columns;
    for (let patch = 0; patch < count; patch++) {
      const x = left + this.across * (patch % columns), y = top + this.down * Math.floor(patch / columns);
      const values = this.cosines.values.subarray(patch * count, (patch + 1) * count);
      renderer.cells(x, y, side * columns, side * rows, { rows, columns, values }, colours);
    }
  }

  at(x, y) {
    const { columns, rows, side } = this, mapColumn = Math.floor(x / this.across), mapRow = Math.floor(y / this.down);
    const column = Math.floor((x - mapColumn * this.across) / side), row = Math.floor((y - mapRow * this.down) / side);
    const isInside = (number, count) => number >= 0 && number < count;
    if (![mapColumn, column].every((one) => isInside(one, columns))) return null;
    if (![mapRow, row].every((one) => isInside(one, rows))) return null;
    const one = mapRow * columns + mapColumn, other = row * columns + column;
    return { one, other, cosine: this.cosines.values[one * rows * columns + other] };
  }
}

export function cosineTold({ one, other, cosine }, nameOf) {
  return say("{one} and {other}: {cosine}", { one: nameOf(one), other: nameOf(other), cosine: decimal(cosine) });
}
