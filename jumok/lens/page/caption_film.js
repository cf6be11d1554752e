// The film of a captioner put together: at each step of training, where the words of a reference looked in its image.
import { followAppearance } from "./appearance.js";
import { CaptionImage } from "./caption_image.js";
import { CaptionWords } from "./caption_words.js";
import { stepTold } from "./charts.js";
import { showControls } from "./controls.js";
import { find } from "./elements.js";
import { makeCharts, showCharts } from "./film_charts.js";
import { makeFrames, meanMeasures } from "./film_frames.js";
import { makeFilmPlayer, nearest } from "./film_player.js";
import { spokenOfCaption } from "./pointed_caption.js";
import { titleOf } from "./selection.js";
import { makeState } from "./state.js";
import { followLanguage, say } from "./texts.js";
import { startPage } from "./unpacking.js";
import { rowOf } from "./weights.js";
import { WordStrip } from "./word_strip.js";

function start(data, arrays) {
  const frames = makeFrames(data, arrays), steps = data.frames.map((frame) => frame.step), last = steps.length - 1;
  const runsName = () => say("image");
  const state = makeState([...frames(last)], { words: data.words, runsName, canRollOut: false });
  const overlayOf = ({ run }) => (run.dark ? "heat" : "light"), slider = find("frame");
  const image = new CaptionImage(find("patches"), {
    point: (place) => state.point("key", place), pin: (place) => state.pinKey(place),
  });
  const words = new CaptionWords(find("caption"), {
    point: (place) => state.point("query", place), pin: (place) => state.pin(place),
  });
  const strip = new WordStrip(find("strip"), state, { overlayOf, isOverImage: () => true });
  let frame = last;

  const go = (number) => {
    frame = Math.max(0, Math.min(last, number));
    state.runs.splice(0, state.runs.length, ...frames(frame));
    state.set({ frame });
  };
  const charts = makeCharts(data, {
    steps, go: (step) => go(nearest(steps, step)), measures: measuresOf(),
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
    image.show(selection);
    words.show(selection);
    strip.show();
    showCharts(charts, { frames, steps, settings, step });
    const values = charts.all.map((chart) => `${chart.titleOf()} ${chart.value.textContent}`);
    find("spoken").textContent = `${stepTold(step)}: ${run.answer}. ${values.join(", ")}.`;
  };
  const point = () => {
    const { selection, pointed, pinned } = state, isWord = pointed?.side === "query";
    const weights = isWord ? rowOf(selection.matrix, pointed.place) : null;
    const look = { overlay: overlayOf(state), drawn: "smooth" };
    image.light(weights, { pointed: isWord ? null : pointed?.place, pinned: state.pinnedKey, ...look });
    words.light(pointed, { pinned });
    strip.light();
    if (pointed) find("spoken").textContent = spokenOfCaption(selection, pointed);
  };
  state.on("change", change);
  state.on("point", point);
  followAppearance(() => state.set({}));
  const player = makeFilmPlayer({ last, at: () => frame, go });
  followLanguage(() => {
    charts.drawn = "";
    player.name();
    state.set({});
  });
  change();
  point();
}

// Spread, and whether words look at different places: measures of the chosen heads.
function measuresOf() {
  const spread = () => say("Entropy of the weights, a mean over words and heads: 0 looks at one place, more at many");
  const apart = () => say("How much the maps of two words differ, a mean over pairs: 0 alike, 1 apart");
  const valueOf = (name) => (run, settings) => meanMeasures(run, settings)[name];
  return [
    { name: "entropy", titleOf: () => say("spread of attention"), meaningOf: spread, valueOf: valueOf("entropy") },
    { name: "apart", titleOf: () => say("words apart"), meaningOf: apart, valueOf: valueOf("apart") },
  ];
}

startPage(start);
