// The film put together: a slider through the steps of training, the map and the lines of each, charts underneath.
import { percent } from "./build.js";
import { Chart } from "./charts.js";
import { showControls } from "./controls.js";
import { figuresAt, makeFrames } from "./frames.js";
import { Grid } from "./grid.js";
import { Lines } from "./lines.js";
import { unpack } from "./numbers.js";
import { titleOf } from "./seen.js";
import { makeState } from "./state.js";
import { followLooks } from "./theming.js";
import { rowOf } from "./weights.js";

const find = (name) => document.getElementById(name);
const WHOLE = 12000, SHORTEST = 120, LONGEST = 700; // milliseconds: the whole film, and one frame of it

function start(data, arrays) {
  const frames = makeFrames(data, arrays), steps = data.frames.map((frame) => frame.step);
  const last = steps.length - 1, slider = find("frame");
  const state = makeState([...frames(last)], { words: data.words, runsAre: "sentence", rolls: false });
  const panels = [new Lines(find("lines"), state), new Grid(find("map"), state)];
  let frame = last;

  const go = (number) => {
    frame = Math.max(0, Math.min(last, number));
    state.runs.splice(0, state.runs.length, ...frames(frame));
    state.set({ frame });
  };
  const charts = makeCharts(data, { steps, go: (step) => go(nearest(steps, step)) });
  const change = () => {
    const { run, seen, choice } = state, step = steps[frame];
    find("asked").textContent = run.source;
    find("said").textContent = run.answer || "–";
    find("wanted").textContent = `reference: ${run.reference}`;
    find("what").textContent = titleOf(seen);
    find("step").textContent = `step ${step.toLocaleString("en")}`;
    slider.value = frame;
    slider.setAttribute("aria-valuetext", `step ${step}`);
    showControls(find("controls"), state);
    panels.forEach((panel) => panel.show());
    find("map").querySelector("canvas").setAttribute("aria-label", told(seen));
    showCharts(charts, { frames, steps, choice, step });
    find("spoken").textContent = `Step ${step}: ${run.answer}. ${charts.all.map((chart) => `${chart.name} ${chart.value.textContent}`).join(", ")}.`;
  };
  state.on("change", change);
  state.on("point", () => panels.forEach((panel) => panel.light()));
  slider.max = last;
  slider.addEventListener("input", () => go(Number(slider.value)));
  followLooks(() => state.set({}));
  makePlayer({ last, at: () => frame, go });
  change();
  document.documentElement.dataset.ready = "";
}

// Scores stay the same whatever is chosen; entropy and the share on the end are the chosen heads'.
function makeCharts({ charts }, { steps, go }) {
  const plain = (value) => value.toFixed(Math.abs(value) < 1 ? 3 : 2);
  const scores = charts.map(({ name, values }) => ({ chart: new Chart(find("charts"), name, { write: plain, go }), values }));
  const entropy = new Chart(find("charts"), "mean entropy", { write: plain, go });
  const onEnd = new Chart(find("charts"), "share on the end", { write: (share) => percent(share), go });
  const furthest = Math.max(...steps, ...charts.flatMap(({ values }) => values.map(([step]) => step)));
  scores.forEach(({ chart, values }) => chart.show(values, furthest));
  return { entropy, onEnd, furthest, all: [...scores.map(({ chart }) => chart), entropy, onEnd], drawn: "" };
}

function showCharts(charts, { frames, steps, choice, step }) {
  const drawn = JSON.stringify([choice.run, choice.layer, choice.heads]);
  if (charts.drawn !== drawn) {
    charts.drawn = drawn;
    const figures = steps.map((_, number) => figuresAt(frames(number)[choice.run], choice));
    charts.entropy.show(figures.map(({ entropy }, place) => [steps[place], entropy]), charts.furthest);
    charts.onEnd.show(figures.map(({ onEnd }, place) => [steps[place], onEnd]), charts.furthest);
  }
  charts.all.forEach((chart) => chart.mark(step));
}

// Whoever wants less motion gets a button that goes on by one step instead.
function makePlayer({ last, at, go }) {
  const button = find("play"), calm = matchMedia("(prefers-reduced-motion: reduce)");
  let timer = null;
  const name = () => (button.textContent = timer ? "pause" : calm.matches ? "next" : "play");
  const stop = () => {
    clearInterval(timer);
    timer = null;
    name();
  };
  button.addEventListener("click", () => {
    if (timer) return stop();
    go(at() === last ? 0 : at() + 1);
    if (calm.matches) return;
    timer = setInterval(() => (at() === last ? stop() : go(at() + 1)), Math.max(SHORTEST, Math.min(LONGEST, WHOLE / (last + 1))));
    name();
  });
  calm.addEventListener("change", stop);
  for (const event of ["pointerdown", "keydown"]) find("frame").addEventListener(event, stop);
  // Arrow keys go through the film from wherever nothing else has use for them.
  document.addEventListener("keydown", (event) => {
    const goal = { ArrowLeft: at() - 1, ArrowRight: at() + 1, Home: 0, End: last }[event.key];
    if (event.target !== document.body || goal === undefined) return;
    stop();
    go(goal);
    event.preventDefault();
  });
  name();
}

// What the map shows, for those who cannot see it: where each word looks most.
function told({ queries, keys, grid }) {
  if (!grid.values.length) return "an empty map";
  return queries.map((query, place) => {
    const row = [...rowOf(grid, place)], most = Math.max(...row);
    return `${query.shown} looks at ${keys[row.indexOf(most)].shown} ${percent(most, 0)}`;
  }).join(", ");
}

function nearest(steps, step) {
  return steps.reduce((best, own, place) => (Math.abs(own - step) < Math.abs(steps[best] - step) ? place : best), 0);
}

const data = JSON.parse(find("data").textContent);
unpack(find("numbers").textContent, data.arrays).then((arrays) => start(data, arrays));
