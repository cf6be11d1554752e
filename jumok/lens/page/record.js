// The record as the page uses it: JSON and unpacked arrays become runs with maps, sides and answers.
import { readableLabels, spaced } from "./labels.js";

export function readRuns(data, arrays) {
  return data.runs.map((run) => {
    const counts = {};
    const maps = run.maps.map((map) => {
      const { shape, values } = arrays[map.weights];
      counts[map.kind] = (counts[map.kind] ?? 0) + 1;
      const [heads, rows, columns] = shape;
      const details = map.details && { ...withArrays(map.details, DETAILS, arrays), scale: map.details.scale };
      return { ...map, number: counts[map.kind], heads, rows, columns, weights: values, details };
    });
    const positions = run.positions.map((one) => ({ ...one, table: arrays[one.table] }));
    const layers = run.layers.map((layer) => readLayer(layer, arrays));
    const kinds = [...new Set(maps.map((map) => map.kind))];
    const sides = run.sides.map((side) => ({ ...side, inWords: side.words.some((word, place) => word !== place) }));
    return { ...run, maps, positions, layers, kinds, sides };
  });
}

const DETAILS = ["query", "key", "value", "output", "mask", "vector"];
const NORM = ["scale", "shift", "mean", "variance"];

function readLayer(layer, arrays) {
  const normOf = (norm) => norm && { ...withArrays(norm, NORM, arrays), epsilon: norm.epsilon };
  const matricesOf = (matrices) => Object.fromEntries(Object.entries(matrices).map(([name, matrix]) => (
    [name, withArrays(matrix, ["weight", "bias"], arrays)])));
  const sublayers = layer.sublayers.map((one) => ({
    ...one, ...withArrays(one, ["output", "hidden"], arrays), norm: normOf(one.norm),
    matrices: matricesOf(one.matrices),
  }));
  return { ...layer, ...withArrays(layer, ["before", "embedded"], arrays), final: normOf(layer.final), sublayers };
}

function withArrays(given, names, arrays) {
  return Object.fromEntries(names.map((name) => [name, given[name] === null ? null : arrays[given[name]]]));
}

// The tokens of a side, or its words: each knows its label, its tokens, and whether it is the end token.
export function itemsOf(side, words) {
  const grouped = words && side.inWords, readable = grouped ? side.labels : readableLabels(side.labels);
  const items = [];
  side.labels.forEach((label, place) => {
    const number = grouped ? side.words[place] : place;
    items[number] ??= { label: "", readable: "", tokens: [] };
    items[number].label += label;
    items[number].readable += readable[place];
    items[number].tokens.push(place);
  });
  return items.map(({ label, readable: joined, tokens }) => {
    const [first] = tokens, whole = grouped ? readableLabels([joined])[0] : joined;
    return {
      label: grouped ? whole : label,
      tokens,
      shown: spaced(whole),
      continues: side.words.length > 0 && !grouped && first > 0 && side.words[first] === side.words[first - 1],
      isEnd: label === "[END]",
    };
  });
}

// The places of the end token among a side's items.
export function endsOf(items) {
  return new Set(items.flatMap((item, place) => (item.isEnd ? [place] : [])));
}
