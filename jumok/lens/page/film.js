// The film put together: a slider through the steps of training, the map and the lines of each, charts underneath.
import { followAppearance } from "./appearance.js";
import { stepTold } from "./charts.js";
import { weightColours } from "./colour.js";
import { showControls } from "./controls.js";
import { find } from "./elements.js";
import { makeCharts, showCharts } from "./film_charts.js";
import { makeFrames, meanMeasures } from "./film_frames.js";
import { makeFilmPlayer, nearest } from "./film_player.js";
import { percent } from "./formats.js";
import { Lines } from "./lines.js";
import { largestOf } from "./patch_grid.js";
import { titleOf } from "./selection.js";
import { makeState } from "./state.js";
import { followLanguage, say } from "./texts.js";
import { startPage } from "./unpacking.js";
import { WeightMap } from "./weight_map.js";
import { rowOf } from "./weights.js";

function start(data, arrays) {
  const frames = makeFrames(data, arrays), steps = data.frames.map((frame) => frame.step);
  const last = steps.length - 1, slider = find("frame");
  const runsName = () => (data.answers === "forecast" ? say("window") : say("sentence"));
  const state = makeState([...frames(last)], { words: data.words, runsName, canRollOut: false });
  const coloursOf = data.answers === "forecast" ? coloursUpTo : undefined; // weights on many steps are small
  const panels = [new Lines(find("lines"), state), new WeightMap(find("map"), state, coloursOf)];
  let frame = last;

  const go = (number) => {
    frame = Math.max(0, Math.min(last, number));
    state.runs.splice(0, state.runs.length, ...frames(frame));
    state.set({ frame });
  };
  const hasEnd = data.probes.some(({ sides }) => sides.some(({ labels }) => labels.includes("[END]")));
  const charts = makeCharts(data, {
    steps, go: (step) => go(nearest(steps, step)),
    measures: measuresOf().filter(({ name }) => hasEnd || name !== "end"), // a forecast has no end token
  });
  const change = () => {
    const { run, selection, settings } = state, step = steps[frame];
    find("source").textContent = run.source;
    find("answer").textContent = run.answer || "–";
    document.title = `${say("the film of {name}", { name: data.name })} · jumok`;
    find("reference").textContent = say("reference: {text}", { text: run.reference });
    find("selection").textContent = titleOf(selection);
    find("step").textContent = stepTold(step);
    slider.value = frame;
    slider.setAttribute("aria-valuetext", stepTold(step));
    showControls(find("controls"), state);
    panels.forEach((panel) => panel.show());
    find("map").querySelector("canvas").setAttribute("aria-label", descriptionOf(selection));
    showCharts(charts, { frames, steps, settings, step });
    const values = charts.all.map((chart) => `${chart.titleOf()} ${chart.value.textContent}`);
    find("spoken").textContent = `${stepTold(step)}: ${run.answer}. ${values.join(", ")}.`;
  };
  state.on("change", change);
  state.on("point", () => panels.forEach((panel) => panel.light()));
  followAppearance(() => state.set({}));
  const player = makeFilmPlayer({ last, at: () => frame, go });
  followLanguage(() => {
    charts.drawn = "";
    player.name();
    state.set({});
  });
  change();
}

// The strongest weight has the strongest colour.
function coloursUpTo({ values }) {
  const colours = weightColours(), most = largestOf(values);
  return (weight) => colours(most ? weight / most : 0);
}

// Entropy and the weight on the end token are the chosen heads'.
function measuresOf() {
  const spread = () => say("Entropy of the weights, a mean over words and heads: 0 looks at one word, more at many");
  const resting = () => say("Share of weight on the end token, where heads with nothing to do rest");
  const valueOf = (name) => (run, settings) => meanMeasures(run, settings)[name];
  return [
    { name: "entropy", titleOf: () => say("spread of attention"), meaningOf: spread, valueOf: valueOf("entropy") },
    {
      name: "end", titleOf: () => say("weight on the end token"), meaningOf: resting, valueOf: valueOf("onEnd"),
      format: (share) => percent(share),
    },
  ];
}

// What the map shows, for those who cannot see it: where each word looks most.
function descriptionOf({ queries, keys, matrix }) {
  if (!matrix.values.length) return say("an empty map");
  return queries.map((query, place) => {
    const row = [...rowOf(matrix, place)], most = Math.max(...row);
    const values = { word: query.shown, key: keys[row.indexOf(most)].shown, share: percent(most, 0) };
    return say("{word} looks at {key} {share}", values);
  }).join(", ");
}

startPage(start);
