// The frames of a film: the probes of one step in the form of runs, and the measures of their heads at every step.
import { endsOf, itemsOf, readRuns } from "./record.js";
import { chosenHeads } from "./selection.js";
import { distanceBetween, headMatrix, measuresOf } from "./weights.js";

// A function from a frame's number to its runs; they are read at the first call and kept.
export function makeFrames({ probes, frames }, arrays) {
  const kept = [];
  return (number) => (kept[number] ??= readRuns({ runs: probesOf(probes, frames[number]) }, arrays));
}

function probesOf(probes, { translations, weights, drawings }) {
  return probes.map((probe, place) => ({
    ...probe,
    answer: translations[place],
    drawing: drawings[place],
    maps: probe.maps.map((map, number) => ({ ...map, weights: weights[place][number] })),
  }));
}

// Entropy, weight on the end token and distance between words' maps of the chosen heads, a mean over them; of tokens,
// as `jumok look` prints them.
export function meanMeasures(run, { layer, heads }) {
  const ends = endsOf(itemsOf(run.sides[run.maps[0].keys], false));
  const maps = layer ? [run.maps[layer - 1]] : run.maps;
  const measures = maps.flatMap((map) => (
    chosenHeads(map, heads).map((head) => {
      const matrix = headMatrix(map, head);
      return { ...measuresOf(matrix, ends), apart: distanceBetween(matrix) };
    })));
  const mean = (name) => measures.reduce((sum, one) => sum + one[name], 0) / measures.length;
  return { entropy: mean("entropy"), onEnd: mean("onEnd"), apart: mean("apart") };
}
