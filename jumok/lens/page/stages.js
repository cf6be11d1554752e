// The stages from a query to the output of an attention layer: their names, and a sentence on each.
import { decimal } from "./formats.js";

export const STAGES = ["query", "keys", "scores", "scaled", "mask", "softmax", "values", "sum", "output"];
const NAMES = {
  query: "q", keys: "k", scores: "q·k", scaled: "÷√d", mask: "mask", softmax: "softmax", values: "weight · v",
  sum: "Σ", output: "output",
};

export function nameOf(stage, { isAdditive, scale }) {
  if (stage === "scores" && isAdditive) return "v·tanh(q+k)";
  return stage === "scaled" && scale === 1 ? "× 1" : NAMES[stage];
}

// thing and things are what keys are called: word and words, patch and patches.
export function explanationOf(stage, { query: q, keys, scale, isAdditive, output }, { query, heads, thing, things }) {
  const masked = keys.filter((one) => !one.isAllowed).length, d = q.length;
  return {
    query: `The state of “${query}” is projected to a query q of ${d} numbers: what it asks for.`,
    keys: `Every ${thing} that may be looked at is projected to a key k of ${d} numbers: what it offers.`,
    scores: isAdditive
      ? `A small network compares them: v · tanh(q + k). One number per ${thing}.`
      : `The dot product q · k says how well question and offer agree. One number per ${thing}.`,
    scaled: scale === 1
      ? "This attention does not scale its scores."
      : `Scores are divided by √${d} ≈ ${decimal(1 / scale, 2)}, so that softmax does not saturate as d grows.`,
    mask: masked
      ? `${masked} of ${keys.length} ${things} may not be looked at: their scores become −∞.`
      : "The mask hides nothing here.",
    softmax: "e to the score, divided by the sum of all: weights that add up to 1. "
      + "These are the numbers of the record.",
    values: `Each ${thing}'s value v (${keys[0].value.length} numbers: what it has to say) `
      + "is multiplied by its weight.",
    sum: "Added up: what this head takes along.",
    output: heads > 1
      ? `The ${heads} heads' sums, side by side, are projected back to ${output.length} numbers: `
        + `the layer's output for “${query}”.`
      : `${output.length} numbers: what the layer hands on for “${query}”.`,
  }[stage];
}
