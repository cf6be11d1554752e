// The film of a text or a forecast: the lines and the map of each step of training, charts underneath.
import { weightColours } from "./colour.js";
import { find } from "./elements.js";
import { meanMeasures } from "./film_frames.js";
import { startFilm } from "./film_scene.js";
import { percent } from "./formats.js";
import { Lines } from "./lines.js";
import { largestOf } from "./patch_grid.js";
import { say } from "./texts.js";
import { startPage } from "./unpacking.js";
import { WeightMap } from "./weight_map.js";
import { rowOf } from "./weights.js";

function start(data, arrays) {
  const isForecast = data.answers === "forecast";
  const hasEnd = data.probes.some(({ sides }) => sides.some(({ labels }) => labels.includes("[END]")));
  startFilm(data, arrays, {
    runsName: () => (isForecast ? say("window") : say("sentence")),
    referenceOf: (text) => (isForecast ? say("what came: {text}", { text }) : say("reference: {text}", { text })),
    scoredOn: () => (isForecast
      ? say("On validation windows, while the run was trained")
      : say("On validation sentences, while the run was trained")),
    measures: measuresOf(data.probes[0].sides[1].name).filter(({ name }) => hasEnd || name !== "end"),
    panelsOf: (state) => panelsOf(state, isForecast ? coloursUpTo : undefined), // weights on many steps are small
  });
}

function panelsOf(state, coloursOf) {
  const linesTold = () => say("lines from each that looks to those it looks at; the map tells the same in numbers");
  const panels = [new Lines(find("lines"), state, linesTold), new WeightMap(find("map"), state, coloursOf)];
  return {
    show: () => {
      panels.forEach((panel) => panel.show());
      find("map").querySelector("canvas").setAttribute("aria-label", descriptionOf(state.selection));
    },
    light: () => panels.forEach((panel) => panel.light()),
  };
}

// The strongest weight has the strongest colour.
function coloursUpTo({ values }) {
  const colours = weightColours(), most = largestOf(values);
  return (weight) => colours(most ? weight / most : 0);
}

// Entropy and the weight on the end token are the chosen heads'; side names what is looked at.
function measuresOf(side) {
  const resting = () => say("Share of weight on the end token, where heads with nothing to do rest");
  const valueOf = (name) => (run, settings) => meanMeasures(run, settings)[name];
  return [
    {
      name: "entropy", titleOf: () => say("spread of attention"), meaningOf: () => spreadOver(side),
      valueOf: valueOf("entropy"),
    },
    {
      name: "end", titleOf: () => say("weight on the end token"), meaningOf: resting, valueOf: valueOf("onEnd"),
      format: (share) => percent(share),
    },
  ];
}

function spreadOver(side) {
  switch (side) {
    case "past":
      return say("Entropy of the weights, a mean over steps and heads: 0 looks at one step, more at many");
    case "patches":
      return say("Entropy of the weights, a mean over patches and heads: 0 looks at one patch, more at many");
    case "variables":
      return say("Entropy of the weights, a mean over variables and heads: 0 looks at one variable, more at many");
    default:
      return say("Entropy of the weights, a mean over words and heads: 0 looks at one word, more at many");
  }
}

// What the map shows, for those who cannot see it: where each row looks most.
function descriptionOf({ queries, keys, matrix }) {
  if (!matrix.values.length) return say("an empty map");
  return queries.map((query, place) => {
    const row = [...rowOf(matrix, place)], most = Math.max(...row);
    const values = { word: query.shown, key: keys[row.indexOf(most)].shown, share: percent(most, 0) };
    return say("{word} looks at {key} {share}", values);
  }).join(", ");
}

startPage(start);
