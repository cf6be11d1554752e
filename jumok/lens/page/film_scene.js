// What the pages of all films share: a slider through the steps of training, the controls, scores and measures.
import { followAppearance } from "./appearance.js";
import { stepTold } from "./charts.js";
import { showControls } from "./controls.js";
import { find } from "./elements.js";
import { makeCharts, showCharts } from "./film_charts.js";
import { makeFrames } from "./film_frames.js";
import { makeFilmPlayer, nearest } from "./film_player.js";
import { titleOf } from "./selection.js";
import { makeState } from "./state.js";
import { followLanguage, say } from "./texts.js";

// panelsOf(state) gives what is shown of one step, { show(), light() }; runsName, referenceOf(text) and scoredOn say
// what a probe, its right answer and the data of the scores are; measures are those of makeCharts.
export function startFilm(data, arrays, { runsName, referenceOf, scoredOn, measures, panelsOf }) {
  const frames = makeFrames(data, arrays), steps = data.frames.map((frame) => frame.step);
  const last = steps.length - 1, slider = find("frame");
  const state = makeState([...frames(last)], { words: data.words, runsName, canRollOut: false });
  const panels = panelsOf(state);
  let frame = last;

  const go = (number) => {
    frame = Math.max(0, Math.min(last, number));
    state.runs.splice(0, state.runs.length, ...frames(frame));
    state.set({ frame });
  };
  const charts = makeCharts(data, { steps, go: (step) => go(nearest(steps, step)), scoredOn, measures });
  const change = () => {
    const { run, selection, settings } = state, step = steps[frame];
    find("source").textContent = run.source;
    find("answer").textContent = run.answer || "–";
    document.title = `${say("the film of {name}", { name: data.name })} · jumok`;
    find("reference").textContent = referenceOf(run.reference);
    find("selection").textContent = titleOf(selection);
    find("step").textContent = stepTold(step);
    slider.value = frame;
    slider.setAttribute("aria-valuetext", stepTold(step));
    showControls(find("controls"), state);
    panels.show();
    showCharts(charts, { frames, steps, settings, step });
    const values = charts.all.map((chart) => `${chart.titleOf()} ${chart.value.textContent}`);
    find("spoken").textContent = `${stepTold(step)}: ${run.answer}. ${values.join(", ")}.`;
  };
  state.on("change", change);
  state.on("point", panels.light);
  followAppearance(() => state.set({}));
  const player = makeFilmPlayer({ last, at: () => frame, go });
  followLanguage(() => {
    charts.drawn = "";
    player.name();
    state.set({});
  });
  change();
  panels.light();
}
