// What the settings select of a run: one matrix of weights with its queries and keys, and one per chosen head.
import { kindName } from "./kinds.js";
import { endsOf, itemsOf } from "./record.js";
import { say } from "./texts.js";
import { headMatrix, headsOf, maximumOf, meanOf, merged, renormalised, rolledOut } from "./weights.js";

export function defaultKind(run) {
  return ["cross", "recurrent"].find((kind) => run.kinds.includes(kind)) ?? run.kinds[0] ?? "";
}

// The settings as this run can follow them: another run may have fewer layers, or other kinds.
export function fitSettings(run, settings) {
  const kind = run.kinds.includes(settings.kind) ? settings.kind : defaultKind(run);
  const maps = run.maps.filter((map) => map.kind === kind);
  const layer = settings.layer <= maps.length ? settings.layer : 0;
  const most = Math.max(0, ...maps.map((map) => map.heads));
  return { ...settings, kind, layer, heads: settings.heads.filter((head) => head < most) };
}

// Step by step is of one layer and one head, and so is all that is shown beside it.
export function isNarrow({ tab }) {
  return tab === "steps";
}

export function narrowed(settings) {
  if (!isNarrow(settings)) return settings;
  const { layer, heads: [head = 0] } = settings;
  return { ...settings, layer: Math.max(layer, 1), heads: [head], combine: "mean" };
}

export function selectionOf(run, wanted) {
  const settings = fitSettings(run, wanted);
  const maps = run.maps.filter((map) => map.kind === settings.kind);
  const output = run.sides[run.output], hasChoices = run.choices.length > 0;
  if (!maps.length) {
    const queries = itemsOf(output, settings.words);
    return { run, settings, maps, queries, keys: [], matrix: null, heads: [], querySide: output, writes: hasChoices };
  }
  const querySide = run.sides[maps[0].queries], keySide = run.sides[maps[0].keys];
  const shown = (side) => itemsOf(side, settings.words).filter((item) => !(settings.hideEnd && item.isEnd));
  const queries = shown(querySide), keys = shown(keySide);
  const inWords = (matrix) => {
    const whole = merged(matrix, queries, keys);
    return settings.hideEnd ? renormalised(whole) : whole;
  };
  const layers = settings.layer ? [maps[settings.layer - 1]] : maps;
  const chosen = () => layers.flatMap((map) => chosenHeads(map, settings.heads).map((head) => headMatrix(map, head)));
  const matrix = {
    rollout: () => inWords(rolledOut(run, settings.kind)),
    max: () => maximumOf(chosen().map(inWords)), // of the words one sees; for means the order makes no difference
    mean: () => inWords(meanOf(chosen())),
  }[settings.combine]();
  const ofHead = (head) => ({ head, matrix: inWords(meanOf(layers.map((map) => headMatrix(map, head)))) });
  const isApart = settings.combine !== "rollout" && settings.heads.length > 0;
  const heads = isApart ? settings.heads.map(ofHead) : [{ head: -1, matrix }];
  const writes = querySide === output && hasChoices; // whether the queries are the tokens that the model chose
  const isOneSide = maps[0].queries === maps[0].keys; // a sequence that looks at itself is shown once
  return { run, settings, maps, queries, keys, matrix, heads, querySide, keySide, writes, isOneSide };
}

// The numbers of the chosen heads of a map; none chosen means all.
export function chosenHeads(map, heads) {
  return heads.length ? heads : Array.from({ length: map.heads }, (_, head) => head);
}

// The matrix of every head of a map in words or tokens, the end token included, and where the end tokens are.
export function matricesOf(run, map, words) {
  const queries = itemsOf(run.sides[map.queries], words), keys = itemsOf(run.sides[map.keys], words);
  const ends = endsOf(keys);
  return headsOf(map).map((matrix) => ({ matrix: merged(matrix, queries, keys), ends }));
}

// What is shown, in words: attention, layers, heads, and how several of them are shown as one.
export function titleOf({ run, settings, maps }) {
  const { kind, layer, heads, combine } = settings, count = Math.max(...maps.map((map) => map.heads));
  const name = kindName(run, kind);
  if (combine === "rollout") return [name, say("followed through all layers")].join(" · ");
  const parts = [name, layersTitle(layer, maps.length), headsTitle(heads, count)];
  const several = (!layer && maps.length > 1) || (heads.length || count) > 1;
  if (several) parts.push(combine === "max" ? say("strongest") : say("average"));
  return parts.join(" · ");
}

function layersTitle(layer, count) {
  if (layer) return say("layer {number}", { number: layer });
  return count > 1 ? say("all {count} layers", { count }) : say("its one layer");
}

function headsTitle(heads, count) {
  if (heads.length === 1) return say("head {number}", { number: heads[0] + 1 });
  if (heads.length) return say("heads {numbers}", { numbers: heads.map((head) => head + 1).join(", ") });
  return count > 1 ? say("all {count} heads", { count }) : say("its one head");
}
