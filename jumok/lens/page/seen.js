// What is seen under a choice of kind, layer, heads and manner: a grid with its queries and keys.
import { gridOfHead, meanOf, merged, renormalised, rolledOut, strongestOf } from "./weights.js";
import { itemsOf } from "./record.js";

export const KIND_NAMES = {
  cross: "output → source",
  recurrent: "output → source",
  encoder: "source → source",
  decoder: "output → output",
};

export function defaultKind(run) {
  return ["cross", "recurrent"].find((kind) => run.kinds.includes(kind)) ?? run.kinds[0] ?? "";
}

// The choice as this run can follow it: another run may have fewer layers, or other kinds.
export function fitted(run, choice) {
  const kind = run.kinds.includes(choice.kind) ? choice.kind : defaultKind(run);
  const maps = run.maps.filter((map) => map.kind === kind);
  const layer = choice.layer <= maps.length ? choice.layer : 0;
  const most = Math.max(0, ...maps.map((map) => map.heads));
  return { ...choice, kind, layer, heads: choice.heads.filter((head) => head < most) };
}

export function seenOf(run, wanted) {
  const choice = fitted(run, wanted);
  const maps = run.maps.filter((map) => map.kind === choice.kind);
  const output = run.sides[run.output];
  if (!maps.length) {
    return { run, choice, maps, queries: itemsOf(output, choice.words), keys: [], grid: null, heads: [], querySide: output, writes: true };
  }
  const querySide = run.sides[maps[0].queries], keySide = run.sides[maps[0].keys];
  const shown = (side) => itemsOf(side, choice.words).filter((item) => !(choice.hideEnd && item.isEnd));
  const queries = shown(querySide), keys = shown(keySide);
  const tidy = (grid) => (choice.hideEnd ? renormalised(merged(grid, queries, keys)) : merged(grid, queries, keys));
  const layers = choice.layer ? [maps[choice.layer - 1]] : maps;
  const gridOf = (head) => tidy(meanOf(layers.map((map) => gridOfHead(map, head))));
  let grid;
  if (choice.how === "rollout") grid = tidy(rolledOut(run, choice.kind));
  else {
    const own = layers.flatMap((map) => chosenHeads(map, choice).map((head) => gridOfHead(map, head)));
    // The strongest of heads is taken in the words one sees; means are the same either way.
    grid = choice.how === "max" ? strongestOf(own.map(tidy)) : tidy(meanOf(own));
  }
  const apart = choice.how !== "rollout" && choice.heads.length > 0;
  const heads = apart ? choice.heads.map((head) => ({ head, grid: gridOf(head) })) : [{ head: -1, grid }];
  return { run, choice, maps, queries, keys, grid, heads, querySide, keySide, writes: querySide === output };
}

function chosenHeads(map, choice) {
  return choice.heads.length ? choice.heads : Array.from({ length: map.heads }, (_, head) => head);
}

// Keys of a map as they are shown, for figures that count the end token in.
export function wholeGrids(run, map, words) {
  const queries = itemsOf(run.sides[map.queries], words), keys = itemsOf(run.sides[map.keys], words);
  const ends = new Set(keys.flatMap((key, place) => (key.isEnd ? [place] : [])));
  return Array.from({ length: map.heads }, (_, head) => ({ grid: merged(gridOfHead(map, head), queries, keys), ends }));
}

export function titleOf({ run, choice, maps }) {
  if (!maps.length) return run.note;
  const layer = choice.layer ? `layer ${choice.layer}` : maps.length > 1 ? `all ${maps.length} layers` : "its one layer";
  if (choice.how === "rollout") return `${choice.kind} attention, rollout through all layers`;
  const count = Math.max(...maps.map((map) => map.heads));
  const heads = choice.heads.length ? `head${choice.heads.length > 1 ? "s" : ""} ${choice.heads.map((head) => head + 1).join(", ")}` : count > 1 ? `all ${count} heads` : "its one head";
  const many = (!choice.layer && maps.length > 1) || (choice.heads.length || count) > 1;
  return `${choice.kind} attention, ${layer}, ${heads}${many ? `: ${choice.how === "max" ? "strongest" : "mean"}` : ""}`;
}
