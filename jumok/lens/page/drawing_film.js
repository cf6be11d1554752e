// The film of a drawer put together: its drawing at each step of training, and which cells looked at which word.
import { followAppearance } from "./appearance.js";
import { CaptionImage } from "./caption_image.js";
import { CaptionWords } from "./caption_words.js";
import { stepTold } from "./charts.js";
import { showControls } from "./controls.js";
import { find } from "./elements.js";
import { makeCharts, showCharts } from "./film_charts.js";
import { makeFrames } from "./film_frames.js";
import { makeFilmPlayer, nearest } from "./film_player.js";
import { percent } from "./formats.js";
import { spokenOfCaption } from "./pointed_caption.js";
import { chosenHeads, titleOf } from "./selection.js";
import { makeState } from "./state.js";
import { followLanguage, say } from "./texts.js";
import { startPage } from "./unpacking.js";
import { distanceBetween, headMatrix, meanOf, renormalised, rowOf } from "./weights.js";
import { WordStrip } from "./word_strip.js";

const SMALL = 100; // pixels of a side below which an image is shown pixel by pixel

function start(data, arrays) {
  const frames = makeFrames(data, arrays), steps = data.frames.map((frame) => frame.step), last = steps.length - 1;
  const state = makeState([...frames(last)], { words: data.words, runsName: () => say("image"), canRollOut: false });
  const overlayOf = ({ run }) => (run.dark ? "heat" : "light"), slider = find("frame");
  const amongWords = withShares(state);
  const image = new CaptionImage(find("patches"), {
    point: (place) => state.point("key", place), pin: (place) => state.pinKey(place),
  });
  const words = new CaptionWords(find("caption"), {
    point: (place) => state.point("query", place), pin: (place) => state.pin(place),
  });
  const strip = new WordStrip(find("strip"), amongWords, { overlayOf, isOverImage: () => true });
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
    const { run, settings } = state, { selection } = amongWords, step = steps[frame], drawn = find("drawing");
    find("source").textContent = run.source;
    find("answer").textContent = run.reference;
    document.title = `${say("the film of {name}", { name: data.name })} · jumok`;
    drawn.src = run.drawing;
    drawn.alt = say("the drawing at {step}", { step: stepTold(step) });
    drawn.classList.toggle("small", Math.max(run.width, run.height) < SMALL);
    drawn.style.setProperty("--shape", `${run.width} / ${run.height}`);
    find("selection").textContent = titleOf(selection);
    find("step").textContent = stepTold(step);
    slider.value = frame;
    slider.setAttribute("aria-valuetext", stepTold(step));
    showControls(find("controls"), state);
    image.show(selection);
    words.show(selection);
    words.list.setAttribute("aria-label", say("the caption"));
    strip.show();
    showCharts(charts, { frames, steps, settings, step });
    const values = charts.all.map((chart) => `${chart.titleOf()} ${chart.value.textContent}`);
    find("spoken").textContent = `${stepTold(step)}. ${values.join(", ")}.`;
  };
  const point = () => {
    const { pointed, pinned } = state, { selection } = amongWords, isWord = pointed?.side === "query";
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

// The state with each word's share of what a cell gave to words: what it gave to others says little about words.
function withShares(state) {
  let whole = null, shares = null;
  const selection = () => {
    if (whole !== state.selection) {
      whole = state.selection;
      shares = { ...whole, matrix: among(whole.matrix) };
    }
    return shares;
  };
  const own = ["run", "settings", "pointed", "pinned", "pinnedKey"].map((name) => [name, { get: () => state[name] }]);
  return Object.create(state, { ...Object.fromEntries(own), selection: { get: selection } });
}

function among({ rows, columns, values }) {
  const sums = new Float64Array(columns);
  values.forEach((weight, place) => (sums[place % columns] += weight));
  return { rows, columns, values: Float64Array.from(values, (weight, place) => weight / (sums[place % columns] || 1)) };
}

// How much cells look at words at all, and whether words are looked at from different places.
function measuresOf() {
  const onWords = () => say("Share of the cells' attention that went to words, a mean over heads");
  const apart = () => say("How much the maps of two words differ, a mean over pairs: 0 alike, 1 apart");
  return [
    {
      name: "on-words", titleOf: () => say("attention to words"), meaningOf: onWords,
      format: (value) => percent(value), valueOf: (run, settings) => {
        const { values, columns } = chosen(run, settings);
        return values.reduce((sum, weight) => sum + weight, 0) / columns;
      },
    },
    {
      name: "apart", titleOf: () => say("words apart"), meaningOf: apart,
      valueOf: (run, settings) => distanceBetween(renormalised(among(chosen(run, settings)))),
    },
  ];
}

// The mean of the chosen layers and heads (tokens × cells).
function chosen(run, { layer, heads }) {
  const maps = layer ? [run.maps[layer - 1]] : run.maps;
  return meanOf(maps.flatMap((map) => chosenHeads(map, heads).map((head) => headMatrix(map, head))));
}

startPage(start);
