// What the settings select of a run: one matrix of weights with its queries and keys, and one per chosen head.
import { endsOf, itemsOf } from "./record.js";
import { headMatrix, headsOf, maximumOf, meanOf, merged, renormalised, rolledOut } from "./weights.js";

export const KIND_NAMES = {
  cross: "output → source",
  recurrent: "output → source",
  encoder: "source → source",
  decoder: "output → output",
};

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
  return { run, settings, maps, queries, keys, matrix, heads, querySide, keySide, writes };
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

export function titleOf({ settings, maps }) {
  if (settings.combine === "rollout") return `${settings.kind} attention, rollout through all layers`;
  const { kind, layer, heads, combine } = settings, count = Math.max(...maps.map((map) => map.heads));
  const layers = layer ? `layer ${layer}` : maps.length > 1 ? `all ${maps.length} layers` : "its one layer";
  const several = (!layer && maps.length > 1) || (heads.length || count) > 1;
  return `${kind} attention, ${layers}, ${headsTitle(heads, count)}${several ? `: ${combine}` : ""}`;
}

function headsTitle(heads, count) {
  if (heads.length) return `head${heads.length > 1 ? "s" : ""} ${heads.map((head) => head + 1).join(", ")}`;
  return count > 1 ? `all ${count} heads` : "its one head";
}
