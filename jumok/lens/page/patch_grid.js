// The grid of an image's patches, perhaps with a class token before them, and the weights of one of its places.
import { say } from "./texts.js";
import { meanRow, weightsOf } from "./weights.js";

// special: how many tokens stand before the patches.
export function gridOf({ run, settings, keys }) {
  const { rows, columns } = run.grids[settings.kind];
  return { rows, columns, special: keys.length - rows * columns };
}

export function nameOf(label) {
  const [row, column] = label.split(",");
  return column ? say("row {row}, column {column}", { row, column }) : say("class token");
}

// The weights of what is pointed at, with words for it. Where nothing is: those of the class token, from whose state
// the class is predicted, or else the mean over patches.
export function litBy(selection, pointed) {
  const { matrix, keys } = selection;
  if (pointed) {
    const weights = weightsOf(matrix, pointed), name = nameOf(keys[pointed.place].label);
    const isQuery = pointed.side === "query", verb = isQuery ? say("looks at") : say("is looked at by");
    const told = isQuery
      ? say("Lit: what is looked at by {name}.", { name }) : say("Lit: what looks at {name}.", { name });
    return { weights, name, verb, told };
  }
  if (gridOf(selection).special) return litBy(selection, { side: "query", place: 0 });
  const name = say("all patches, on average"), told = say("Lit: what all patches look at, on average.");
  return { weights: meanRow(matrix), name, verb: say("look at"), told };
}

// The patches alone as a matrix, each as a share of the strongest, so that one look has the whole range of shades.
export function sharesOf(weights, { rows, columns, special }) {
  const cells = Float64Array.from(weights).subarray(special), most = largestOf(cells);
  return { rows, columns, most, values: cells.map((weight) => (most ? weight / most : 0)) };
}

export function largestOf(values) {
  return values.reduce((largest, value) => Math.max(largest, value), 0);
}

export function strongest({ keys }, weights, count) {
  const found = keys.map(({ label }, place) => ({ label, place, weight: weights[place] }));
  return found.sort((one, other) => other.weight - one.weight).slice(0, count);
}

// Patches between where a head looks and its own place, a mean over patches; the class token has no place.
export function distanceOf(matrix, { columns, special }) {
  let distance = 0, all = 0;
  for (let query = special; query < matrix.rows; query++) {
    for (let key = special; key < matrix.columns; key++) {
      const weight = matrix.values[query * matrix.columns + key];
      const down = Math.floor((query - special) / columns) - Math.floor((key - special) / columns);
      const right = ((query - special) % columns) - ((key - special) % columns);
      distance += weight * Math.hypot(down, right);
      all += weight;
    }
  }
  return all ? distance / all : 0;
}
