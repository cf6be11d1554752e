// The film put together: a slider through the steps of training, the map and the lines of each, charts underneath.
import { followAppearance } from "./appearance.js";
import { Chart, stepTold } from "./charts.js";
import { showControls } from "./controls.js";
import { find } from "./elements.js";
import { makeFrames, meanMeasures } from "./film_frames.js";
import { percent } from "./formats.js";
import { Lines } from "./lines.js";
import { makePlayer } from "./player.js";
import { titleOf } from "./selection.js";
import { makeState } from "./state.js";
import { followLanguage, say, translated } from "./texts.js";
import { startPage } from "./unpacking.js";
import { WeightMap } from "./weight_map.js";
import { rowOf } from "./weights.js";

const WHOLE = 12000, SHORTEST = 120, LONGEST = 700; // milliseconds: the whole film, and one frame of it

function start(data, arrays) {
  const frames = makeFrames(data, arrays), steps = data.frames.map((frame) => frame.step);
  const last = steps.length - 1, slider = find("frame");
  const runsName = () => say("sentence");
  const state = makeState([...frames(last)], { words: data.words, runsName, canRollOut: false });
  const panels = [new Lines(find("lines"), state), new WeightMap(find("map"), state)];
  let frame = last;

  const go = (number) => {
    frame = Math.max(0, Math.min(last, number));
    state.runs.splice(0, state.runs.length, ...frames(frame));
    state.set({ frame });
  };
  const charts = makeCharts(data, { steps, go: (step) => go(nearest(steps, step)) });
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
  slider.max = last;
  slider.addEventListener("input", () => go(Number(slider.value)));
  followAppearance(() => state.set({}));
  const player = makeFilmPlayer({ last, at: () => frame, go });
  followLanguage(() => {
    charts.drawn = "";
    player.name();
    state.set({});
  });
  change();
}

// Scores stay the same whatever is chosen; entropy and the weight on the end token are the chosen heads'.
function makeCharts({ charts }, { steps, go }) {
  const plain = (value) => value.toFixed(Math.abs(value) < 1 ? 3 : 2);
  const chart = (name, titleOf, meaningOf, format = plain) => (
    new Chart(find("charts"), name, { titleOf, meaningOf, format, go }));
  const scores = charts.map(({ name, values }) => {
    const scored = () => say("On validation sentences, while the run was trained");
    return { chart: chart(name, () => translated(name), scored), values };
  });
  const spread = () => say("Entropy of the weights, a mean over words and heads: 0 looks at one word, more at many");
  const resting = () => say("Share of weight on the end token, where heads with nothing to do rest");
  const entropy = chart("entropy", () => say("spread of attention"), spread);
  const onEnd = chart("end", () => say("weight on the end token"), resting, (share) => percent(share));
  const furthest = Math.max(...steps, ...charts.flatMap(({ values }) => values.map(([step]) => step)));
  return { scores, entropy, onEnd, furthest, all: [...scores.map((score) => score.chart), entropy, onEnd], drawn: "" };
}

function showCharts(charts, { frames, steps, settings, step }) {
  const drawn = JSON.stringify([settings.run, settings.layer, settings.heads]);
  if (charts.drawn !== drawn) {
    charts.drawn = drawn;
    charts.scores.forEach((score) => score.chart.show(score.values, charts.furthest));
    const measures = steps.map((_, number) => meanMeasures(frames(number)[settings.run], settings));
    charts.entropy.show(measures.map(({ entropy }, place) => [steps[place], entropy]), charts.furthest);
    charts.onEnd.show(measures.map(({ onEnd }, place) => [steps[place], onEnd]), charts.furthest);
  }
  charts.all.forEach((chart) => chart.mark(step));
}

// The slider and the arrow keys stop the film.
function makeFilmPlayer({ last, at, go }) {
  const pace = () => Math.max(SHORTEST, Math.min(LONGEST, WHOLE / (last + 1)));
  const player = makePlayer({ button: find("play"), last: () => last, at, go, pace });
  for (const event of ["pointerdown", "keydown"]) find("frame").addEventListener(event, player.stop);
  // Arrow keys go through the film from wherever nothing else has use for them.
  document.addEventListener("keydown", (event) => {
    const goal = { ArrowLeft: at() - 1, ArrowRight: at() + 1, Home: 0, End: last }[event.key];
    if (event.target !== document.body || goal === undefined) return;
    player.stop();
    go(goal);
    event.preventDefault();
  });
  return player;
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

function nearest(steps, step) {
  return steps.reduce((best, own, place) => (Math.abs(own - step) < Math.abs(steps[best] - step) ? place : best), 0);
}

startPage(start);
