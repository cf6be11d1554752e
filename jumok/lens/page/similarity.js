// How alike positions are: the cosine of every two rows of a table, as one map or, for patches, a grid of small maps.
import { decimal } from "./formats.js";
import { say } from "./texts.js";

const SMALLEST = 5, LARGEST = 14, GAP = 3; // pixels: a cell's side, the space between two small maps

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
    this.side = Math.max(SMALLEST, Math.min(LARGEST, Math.floor(width / cosines.rows)));
  }

  get size() {
    return { width: this.side * this.cosines.columns, height: this.side * this.cosines.rows };
  }

  draw(renderer, { left, top }, colours) {
    renderer.cells(left, top, this.size.width, this.size.height, this.cosines, colours);
  }

  // What stands at a point: two positions, counted from 0, and their cosine.
  at(x, y) {
    const column = Math.floor(x / this.side), row = Math.floor(y / this.side), { rows, values } = this.cosines;
    return column < 0 || row < 0 || column >= rows || row >= rows ? null
      : { one: row, other: column, cosine: values[row * rows + column] };
  }
}

// For each patch a small map of how like it all patches are, laid out as they are (Dosovitskiy et al. 2021, fig. 7).
export class SimilarityGrid {
  constructor(cosines, [rows, columns], width) {
    Object.assign(this, { cosines, rows, columns });
    const side = Math.floor((width / columns - GAP) / columns);
    this.side = Math.max(2, Math.min(LARGEST, side));
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
