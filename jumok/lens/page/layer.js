// A whole layer for one token, computed again from what the page keeps of it: sums, norms and activations.
import { vectorAt } from "./arithmetic.js";

const ACTIVATIONS = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => (x * (1 + erf(x / Math.SQRT2))) / 2,
  "gelu-tanh": (x) => (x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))) / 2,
  silu: (x) => x / (1 + Math.exp(-x)),
};

// What goes into the layer that a map belongs to, each part's numbers, and what comes out of it; null where the page
// keeps no layers.
export function layerOf(run, map, token) {
  const layer = run.layers.find(({ path }) => map.path.startsWith(`${path}.`));
  if (!layer) return null;
  let stream = vectorAt(layer.before, token);
  const before = stream;
  const parts = layer.sublayers.map((one) => {
    const part = partOf(one, run.maps.find(({ path }) => path === one.path), { before: stream, token });
    stream = part.after;
    return part;
  });
  const isLast = !run.layers.some((other) => stackOf(other) === stackOf(layer) && depthOf(other) > depthOf(layer));
  const final = layer.final && normalised(stream, layer.final);
  return { layer, before, parts, after: stream, final, isLast, input: inputOf(run, layer, token) };
}

// Attention or a feed-forward with its residual connection and norm.
function partOf(one, map, { before, token }) {
  const output = vectorAt(one.output ?? map.details.output, token);
  const sum = one.residual ? before.map((value, place) => value + output[place]) : null;
  const hidden = one.hidden && vectorAt(one.hidden, token);
  return {
    name: one.path.split(".").at(-1), sublayer: one, map, before, output, sum, hidden,
    given: one.pre ? normalised(before, one.norm) : before,
    activated: hidden && hidden.map(ACTIVATIONS[one.activation]),
    after: one.pre ? sum ?? output : normalised(sum ?? output, one.norm),
  };
}

// What a first layer's input was made of: the token's own vector and its position; null for other layers. Tokens that
// stand before an image's patches have no position.
function inputOf(run, { before, embedded, positions }, token) {
  if (!embedded) return null;
  const place = token - (before.shape[0] - embedded.shape[0]);
  if (place < 0) return { isLearnt: true };
  const table = run.positions.find(({ path }) => path === positions), own = vectorAt(embedded, place);
  if (!table) return { own };
  const position = vectorAt(table.table, place), isAdded = table.join === "add";
  const joined = isAdded ? own.map((value, at) => value + position[at % position.length]) : [...own, ...position];
  return { own, position, place, isAdded, joined };
}

// Layer norm, or batch norm with the statistics of training.
export function normalised(vector, { scale, shift, epsilon, mean, variance }) {
  const count = vector.length, average = vector.reduce((sum, value) => sum + value, 0) / count;
  const spread = vector.reduce((sum, value) => sum + (value - average) ** 2, 0) / count;
  return vector.map((value, place) => {
    const from = mean ? mean.values[place] : average, by = variance ? variance.values[place] : spread;
    return ((value - from) / Math.sqrt(by + epsilon)) * scale.values[place] + shift.values[place];
  });
}

function stackOf({ path }) {
  return path.slice(0, path.lastIndexOf("."));
}

function depthOf({ path }) {
  return Number(path.slice(path.lastIndexOf(".") + 1));
}

// Abramowitz and Stegun 7.1.26: right to 1.5e-7.
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const sum = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  return Math.sign(x) * (1 - sum * Math.exp(-x * x));
}
