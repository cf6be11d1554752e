// The frames of a film: the probes of one step in the form of runs, and figures of their heads at every step.
import { itemsOf, readRuns } from "./record.js";
import { figuresOf, gridOfHead } from "./weights.js";

// Frames are read when they are first asked for, and kept.
export function makeFrames({ probes, frames }, arrays) {
  const kept = [];
  return (number) => (kept[number] ??= readRuns({ runs: probesOf(probes, frames[number]) }, arrays));
}

function probesOf(probes, { translations, weights }) {
  return probes.map((probe, place) => ({
    ...probe,
    answer: translations[place],
    maps: probe.maps.map((map, number) => ({ ...map, weights: weights[place][number] })),
  }));
}

// Entropy and share on the end of the chosen heads, a mean over them; of tokens, as `jumok look` in the terminal has it.
export function figuresAt(run, { layer, heads }) {
  const ends = new Set(itemsOf(run.sides[run.maps[0].keys], false).flatMap((key, place) => (key.isEnd ? [place] : [])));
  const own = (layer ? [run.maps[layer - 1]] : run.maps).flatMap((map) =>
    (heads.length ? heads : Array.from({ length: map.heads }, (_, head) => head)).map((head) => figuresOf(gridOfHead(map, head), ends)));
  const mean = (name) => own.reduce((sum, one) => sum + one[name], 0) / own.length;
  return { entropy: mean("entropy"), onEnd: mean("onEnd") };
}
