// The places of an image's attention: a class token perhaps, then cells row by row; and what is lit from one of them.
import { columnOf, meanRow, rowOf } from "./weights.js";

export function layoutOf({ run, choice, keys }) {
  const { rows, columns } = run.grids[choice.kind];
  return { rows, columns, special: keys.length - rows * columns };
}

export function nameOf(label) {
  const [row, column] = label.split(",");
  return column ? `row ${row}, column ${column}` : "class token";
}

// Weights of all places for what is pointed at. Where nothing is: those of the class token, whose state is read in the end, or else the mean.
export function litBy(seen, pointed) {
  const { grid, keys } = seen;
  if (pointed) {
    const name = nameOf(keys[pointed.place].label), called = name.startsWith("row") ? name : `the ${name}`;
    if (pointed.side === "query") return { weights: rowOf(grid, pointed.place), name, verb: "looks at", told: `what ${called} looks at` };
    return { weights: columnOf(grid, pointed.place), name, verb: "is looked at by", told: `what looks at ${called}` };
  }
  if (layoutOf(seen).special) return litBy(seen, { side: "query", place: 0 });
  return { weights: meanRow(grid), name: "all patches, on average", verb: "look at", told: "what all patches look at, on average" };
}

// The cells alone as a grid, each as a share of the strongest: what one place looks at has the whole range of shades.
export function sharesOf(weights, { rows, columns, special }) {
  const cells = Float64Array.from(weights).subarray(special);
  const most = cells.reduce((largest, weight) => Math.max(largest, weight), 0);
  return { rows, columns, most, values: cells.map((weight) => (most ? weight / most : 0)) };
}

export function strongest({ keys }, weights, count) {
  return keys.map((item, place) => ({ label: item.label, place, weight: weights[place] })).sort((one, other) => other.weight - one.weight).slice(0, count);
}

// Cells between where a head looks and its own place, a mean over the cells that look; the class token has no place.
export function distanceOf(grid, { columns, special }) {
  let distance = 0, all = 0;
  for (let query = special; query < grid.rows; query++) {
    for (let key = special; key < grid.columns; key++) {
      const down = Math.floor((query - special) / columns) - Math.floor((key - special) / columns);
      const right = ((query - special) % columns) - ((key - special) % columns), weight = grid.values[query * grid.columns + key];
      distance += weight * Math.hypot(down, right);
      all += weight;
    }
  }
  return all ? distance / all : 0;
}
