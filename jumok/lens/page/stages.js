// The stages from a query to the output of an attention layer: their names, and a sentence on each.
import { decimal } from "./formats.js";
import { say } from "./texts.js";

export const STAGES = ["query", "keys", "scores", "scaled", "mask", "softmax", "values", "sum", "output"];

export function nameOf(stage, { isAdditive, scale }) {
  return {
    query: "q", keys: "k", scores: isAdditive ? "v·tanh(q+k)" : "q·k", scaled: scale === 1 ? "× 1" : "÷√d",
    mask: say("mask"), softmax: say("softmax"), values: say("weight · v"), sum: "Σ", output: say("heads joined"),
  }[stage];
}

// thing and things are what keys are called: word and words, patch and patches.
export function explanationOf(stage, { query: q, keys, scale, isAdditive, output }, { query, heads, thing, things }) {
  const masked = keys.filter((one) => !one.isAllowed).length, d = q.length, count = keys.length;
  return {
    query: () => say("The vector is projected to a query q of {d} numbers: what “{query}” asks for.", { query, d }),
    keys: () => say("Each {thing} that may be looked at has a key k of {d} numbers: what it offers.", { thing, d }),
    scores: () => (isAdditive
      ? say("A small network compares them: v · tanh(q + k). One number for each {thing}.", { thing })
      : say("The dot product q · k says how well question and offer agree. One number for each {thing}.", { thing })),
    scaled: () => (scale === 1
      ? say("This attention does not scale its scores.")
      : say("Scores are divided by √{d} ≈ {root}, so that softmax does not saturate as d grows.", {
        d, root: decimal(1 / scale, 2),
      })),
    mask: () => (masked
      ? say("{masked} of {count} {things} may not be looked at: their scores become −∞.", { masked, count, things })
      : say("The mask hides nothing here.")),
    softmax: () => say("e to the score, divided by the sum of all: weights that add up to 1, as the record has them."),
    values: () => say("Each {thing} has a value v of {count} numbers, what it has to say: here times its weight.", {
      thing, count: keys[0].value.length,
    }),
    sum: () => say("Added up: what this head takes along."),
    output: () => (heads > 1
      ? say("The sums of all {heads} heads side by side, projected back to {count} numbers: the attention's output.", {
        heads, count: output.length,
      })
      : say("The attention's output: {count} numbers.", { count: output.length })),
  }[stage]();
}
