// The page of a caption put together: reads the record, keeps image, words and views in step with the viewer.
import { followAppearance } from "./appearance.js";
import { CaptionCompare } from "./caption_compare.js";
import { CaptionHeads } from "./caption_heads.js";
import { CaptionImage } from "./caption_image.js";
import { CaptionWords } from "./caption_words.js";
import { Captions } from "./captions.js";
import { radios, showControls } from "./controls.js";
import { find } from "./elements.js";
import { percent } from "./formats.js";
import { largestOf } from "./patch_grid.js";
import { makePlayer } from "./player.js";
import { showPointed, spokenOfCaption } from "./pointed_caption.js";
import { showPointedWord, spokenOf } from "./pointed_word.js";
import { readRuns } from "./record.js";
import { saveButtons } from "./saving.js";
import { titleOf } from "./selection.js";
import { makeState } from "./state.js";
import { makeTabs, showTab } from "./tabs.js";
import { followLanguage, say, translated } from "./texts.js";
import { startPage } from "./unpacking.js";
import { rowOf } from "./weights.js";
import { WordStrip } from "./word_strip.js";
import { Words } from "./words.js";

const CAPTION_CONTROLS = { heads: ["combine"], answers: ["kind", "layer", "heads", "combine", "words"] };

function start({ words: opensWithWords, ...data }, arrays) {
  const versions = versionsOf(data, arrays), runs = versions.map(([first]) => first);
  const tabs = tabsOf(runs);
  const state = makeState(runs, { words: opensWithWords, tab: tabs[0], canRollOut: false });
  const isOverImage = ({ run, settings }) => Boolean(run.grids[settings.kind]);
  // What the image shows of a selection: weights over its cells, or nothing where words look at words.
  const shownOver = (selection) => (isOverImage(selection) ? selection : { ...selection, matrix: null, keys: [] });
  const shownAs = ({ settings, run }) => overlayOf(settings, run);
  const lookOf = (run) => ({ overlay: overlayOf(state.settings, run), drawn: state.settings.drawn ?? "smooth" });
  const image = new CaptionImage(find("patches"), {
    point: (place) => state.point("key", place), pin: (place) => state.pinKey(place),
  });
  const words = new CaptionWords(find("caption"), {
    point: (place) => state.point("query", place), pin: (place) => state.pin(place),
  });
  const back = new Words(find("sentence"), { point: state.point, pin: state.pin }); // where words look at words
  const choose = (number) => {
    state.pin(null);
    runs[state.settings.run] = versions[state.settings.run][number];
    state.set({ run: state.settings.run, written: null });
  };
  const panels = makeTabs(state, tabs.map((name) => [name, {
    compare: (host) => new CaptionCompare(host, state, { lookOf, shownOver }),
    strip: (host) => new WordStrip(host, state, { overlayOf: shownAs, isOverImage }),
    heads: (host) => new CaptionHeads(host, state, { overlayOf: shownAs }),
    answers: (host) => new Captions(host, state, { choose, countOf: (one) => versions[one.settings.run].length }),
  }[name]]));
  find("below-image").append(saveButtons("image", () => [image, "attention-image"]));
  find("answer").className = "visually-hidden"; // the words say it below
  const slider = find("written");

  const change = () => {
    const { run, selection, settings } = state, isOver = isOverImage(selection);
    find("source").textContent = [run.source, runs.length > 1 ? "" : translated(run.name)].filter(Boolean).join(" · ");
    find("answer").textContent = run.answer;
    document.documentElement.style.setProperty("--image", run.image ? `url("${run.image}")` : "none");
    find("selection").textContent = selection.matrix ? titleOf(selection) + sizeOf(selection) : "";
    tell("warning", isOver ? run.warnings.map(translated).join(" ") : "");
    tell("note", selection.matrix ? "" : translated(run.note));
    showControls(find("controls"), state, CAPTION_CONTROLS[settings.tab]);
    if (isOver) find("controls").append(...imageControls(state));
    image.show(shownOver(selection));
    find("caption").hidden = Boolean(selection.matrix) && !isOver;
    find("sentence").hidden = !find("caption").hidden;
    (find("caption").hidden ? back : words).show(selection);
    slider.max = selection.queries.length;
    find("below-image").hidden = !isOver;
    find("views").hidden = !settings.tab;
    if (settings.tab) showTab(panels, settings.tab, settings.tab === "heads" || (settings.tab === "strip" && isOver));
  };
  const point = () => {
    const { selection, pointed, pinned, settings } = state, { written } = settings;
    const isOver = isOverImage(selection), isWord = pointed?.side === "query";
    const weights = isOver && isWord ? rowOf(selection.matrix, pointed.place) : null;
    image.light(weights, { pointed: isWord ? null : pointed?.place, pinned: state.pinnedKey, ...lookOf(state.run) });
    if (find("caption").hidden) {
      back.light(pointed, pinned, written);
      showPointedWord(find("pointed"), selection, pointed);
      find("spoken").textContent = spokenOf(selection, pointed);
    } else {
      words.light(pointed, { pinned, written });
      showPointed(find("pointed"), selection, pointed);
      find("spoken").textContent = spokenOfCaption(selection, pointed);
    }
    find("scale").textContent = weights ? say("The brightest place has {most} of this word's attention.", {
      most: percent(largestOf(weights)),
    }) : "";
    slider.value = written ?? selection.queries.length;
    find("count").textContent = say("{count} of {all}", { count: slider.value, all: selection.queries.length });
    panels[settings.tab]?.light();
  };
  state.on("change", change);
  state.on("point", point);
  const player = makeWriting(state, slider);
  followAppearance(() => state.set({}));
  followLanguage(() => {
    player.name();
    state.set({});
  });
  // Arrow keys walk from wherever nothing else has use for them.
  document.addEventListener("keydown", (event) => {
    if (event.target !== document.body || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const { pointed } = state, step = event.key === "ArrowRight" ? 1 : -1;
    const place = pointed?.side === "query" ? pointed.place + step : 0;
    const goal = Math.max(0, Math.min(state.selection.queries.length - 1, place));
    if (find("caption").hidden) back.focus("query", goal);
    else words.focus(goal);
    event.preventDefault();
  });
  change();
  point();
}

// Each run, and beside it the further captions of its search that have maps of their own.
function versionsOf(data, arrays) {
  return readRuns(data, arrays).map((run) => {
    const others = readRuns({ runs: run.alternatives }, arrays);
    const { image, width, height, dark, answers, name, source } = run;
    const same = { image, width, height, dark, answers, name, source, worth: [], tokens: [] };
    return [run, ...others.map((other, number) => ({ ...other, ...same, version: number + 1 }))];
  });
}

// The slider writes the caption word by word, and so does the button.
function makeWriting(state, slider) {
  slider.addEventListener("input", () => state.write(Number(slider.value)));
  const last = () => state.selection.queries.length;
  const player = makePlayer({
    button: find("play"), last, at: () => state.settings.written ?? last(), go: state.write, pace: () => 800, first: 1,
  });
  for (const event of ["pointerdown", "keydown"]) slider.addEventListener(event, player.stop);
  return player;
}

function tabsOf(runs) {
  const isThere = {
    compare: runs.length > 1,
    strip: runs.some((run) => run.maps.length),
    heads: runs.some((run) => run.maps.some((map) => map.heads > 1)),
    answers: runs.some((run) => run.answers.length > 1),
  };
  return Object.keys(isThere).filter((name) => isThere[name]);
}

// A dark image is no brighter where a veil is lifted.
function overlayOf(settings, run) {
  return settings.overlay ?? (run.dark ? "heat" : "light");
}

// What only images have stands behind the other controls.
function imageControls({ settings, run, set }) {
  const overlays = [
    { value: "light", text: say("light"), title: say("A veil is lifted where it looks") },
    { value: "heat", text: say("heat"), title: say("Heat is laid where it looks") },
  ];
  const ways = [
    { value: "smooth", text: say("smooth"), title: say("From cell to cell without edges; the strongest place is 1") },
    { value: "cells", text: say("cells"), title: say("As the model has them: one weight per cell of its grid") },
  ];
  return [
    radios(say("shown as"), { name: "overlay", options: overlays, value: overlayOf(settings, run), choose: set }),
    radios(say("drawn"), { name: "drawn", options: ways, value: settings.drawn ?? "smooth", choose: set }),
  ];
}

function sizeOf({ run, settings }) {
  if (!run.grids[settings.kind]) return "";
  const { rows, columns, block } = run.grids[settings.kind];
  const size = block === 1 ? say("{rows} × {columns} cells", { rows, columns })
    : say("{rows} × {columns} blocks of {block} × {block} cells", { rows, columns, block });
  return ` · ${size}`;
}

function tell(id, text) {
  find(id).textContent = text;
  find(id).hidden = !text;
}

startPage(start);
