// All stages of a layer for one token, in groups: input, attention, feed-forward, output.
import { explanationOf, nameOf, STAGES } from "./stages.js";
import { say } from "./texts.js";
import { largestOf } from "./vectors.js";

// about: query (the word at this place of the output), read (the word that the layer reads there), number (of the
// layer), head, heads, thing, things, chosen (the map whose attention is shown in full), other (how to see another),
// goesTo (a sentence on what becomes of the last layer's vector), result (rows of labels and probabilities).
// A stage has a name, a title, a text, and strips or a column of the attention's table.
export function groupsOf(layer, attention, about) {
  const full = attentionStages(attention, about);
  if (!layer) return [{ name: "attention", title: say("attention"), stages: full }];
  return [
    { name: "input", title: say("input"), stages: inputStages(layer, about) },
    ...layer.parts.map((part) => {
      const own = part.map === about.chosen ? full : partStages(part, about);
      return { name: part.name, title: titleOf(part), part, stages: [...normBefore(part), ...own, ...around(part)] };
    }),
    { name: "output", title: say("output"), stages: outputStages(layer, about) },
  ];
}

function titleOf({ name }) {
  return {
    attention: say("self-attention"), cross: say("cross-attention"), feedforward: say("feed-forward"),
    middle: say("feed-forward in the middle"),
  }[name] ?? name;
}

function stage(name, title, text, numbers = null) {
  const strips = numbers ? [{ caption: title, name: title, numbers }] : [];
  return { name, title, text, strips };
}

function inputStages({ input, before }, { read, number }) {
  const count = before.length;
  if (!input) {
    const values = { number: number - 1, read, count };
    return [stage("input", "x", say("What layer {number} handed on for “{read}”: {count} numbers.", values), before)];
  }
  if (input.isLearnt) {
    const text = say("“{read}” stands for no patch: its {count} numbers are learnt.", { read, count });
    return [stage("input", "x", text, before)];
  }
  const stages = [stage("embedding", say("embedding"), say("“{read}” as a vector of {count} numbers.", {
    read, count: input.own.length,
  }), input.own)];
  if (!input.position) return stages;
  const { place, isAdded, joined } = input;
  stages.push(stage("position", say("position"), isAdded
    ? say("The vector of position {place}, which is added: words in another order are another input.", { place })
    : say("The vector of position {place}, which is put behind it.", { place }), input.position));
  const apart = largestOf(joined.map((value, at) => value - before[at])), isNormed = apart > 0.05 * largestOf(joined);
  stages.push(stage("input", "x", isNormed
    ? say("Both together, normalised: what layer {number} reads.", { number })
    : say("Both together: what layer {number} reads.", { number }), before));
  return stages;
}

function attentionStages(attention, { query, head, heads, ...about }) {
  const joined = attention.sums.flatMap((sum) => [...sum]);
  const strips = {
    query: [{ caption: "q", name: say("q of {word}", { word: query }), numbers: attention.query }],
    sum: [{ caption: "Σ", name: say("sum of head {number}", { number: head + 1 }), numbers: attention.sum }],
    output: [
      ...(heads > 1 ? [{ caption: say("heads"), name: say("heads side by side"), numbers: joined }] : []),
      { caption: say("output"), name: say("output for {word}", { word: query }), numbers: attention.output },
    ],
  };
  return STAGES.map((name) => ({
    name, title: nameOf(name, attention), strips: strips[name] ?? [], isColumn: !strips[name],
    text: explanationOf(name, attention, { query, heads, ...about }),
  }));
}

// Attention that is not the chosen one, or a feed-forward.
function partStages(part, { other }) {
  const { name, output, hidden, activated, sublayer } = part;
  if (!hidden) return [stage(`${name}-output`, say("output"), `${say("What this attention adds.")} ${other}`, output)];
  const zeros = activated.filter((value) => value === 0).length, { length: count } = hidden;
  const { activation } = sublayer, width = output.length;
  const bent = say("{activation} bends them; without it two projections would be one.", { activation });
  const silent = zeros ? ` ${say("{zeros} of {count} are 0.", { zeros, count })}` : "";
  return [
    stage(`${name}-hidden`, say("expanded"), say("A projection to {count} hidden features.", { count }), hidden),
    stage(`${name}-activation`, activation, `${bent}${silent}`, activated),
    stage(`${name}-output`, say("output"), say("Projected back to {count} numbers.", { count: width }), output),
  ];
}

function normBefore({ name, sublayer, given }) {
  if (!sublayer.pre) return [];
  const text = say("Layer norm: mean 0 and spread 1, then a learnt scale and shift. What follows reads this.");
  return [stage(`${name}-norm`, say("norm"), text, given)];
}

// The residual connection, and the norm behind it.
function around({ name, sublayer, sum, after }) {
  const stages = [];
  if (sum) {
    const text = say("Residual connection: the output is added to what came in, so that nothing is lost.");
    stages.push(stage(`${name}-residual`, say("+ input"), text, sum));
  }
  if (!sublayer.pre) {
    const text = say("Layer norm: mean 0 and spread 1, then a learnt scale and shift.");
    stages.push(stage(`${name}-norm`, say("norm"), text, after));
  }
  return stages;
}

function outputStages({ after, final, isLast }, { number, goesTo, result }) {
  if (!isLast) {
    const text = say("What layer {number} reads for this place.", { number: number + 1 });
    return [stage("after", say("to layer {number}", { number: number + 1 }), text, after)];
  }
  const stages = [];
  if (final) stages.push(stage("final-norm", say("norm"), say("One more layer norm after the last layer."), final));
  return [...stages, { ...stage("result", say("result"), goesTo, final ?? after), result }];
}
