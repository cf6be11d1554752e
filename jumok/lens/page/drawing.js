// The page of a drawing put together: reads the record, keeps image, text, film and views in step with the viewer.
import { followAppearance } from "./appearance.js";
import { radios, showControls } from "./controls.js";
import { DrawingHeads } from "./drawing_heads.js";
import { DrawingImage } from "./drawing_image.js";
import { cellsLookedAt, cellsLookingAt, partsOf, wordMaps } from "./drawing_weights.js";
import { DrawingWords } from "./drawing_words.js";
import { find } from "./elements.js";
import { percent } from "./formats.js";
import { largestOf } from "./patch_grid.js";
import { makePlayer } from "./player.js";
import { showPointedDrawing, spokenOfDrawing } from "./pointed_drawing.js";
import { readRuns } from "./record.js";
import { saveButtons } from "./saving.js";
import { titleOf } from "./selection.js";
import { makeState } from "./state.js";
import { makeTabs, showTab } from "./tabs.js";
import { followLanguage, say, translated } from "./texts.js";
import { startPage } from "./unpacking.js";
import { meanRow, rowOf } from "./weights.js";
import { WordStrip } from "./word_strip.js";

const WHOLE = 14000, SHORTEST = 50, LONGEST = 350; // milliseconds: the film of a drawing, and one cell of it
const SHOWN = { heads: ["combine"] }; // what changes something under a tab, beside its usual controls

function start({ words: opensWithWords, ...data }, arrays) {
  const runs = readRuns(data, arrays);
  const state = makeState(runs, { words: opensWithWords, tab: "strip", canRollOut: false });
  const overlayOf = () => state.settings.overlay ?? (state.run.dark ? "heat" : "light");
  const among = () => state.settings.among ?? "all";
  const isCellKey = () => state.settings.cell === "key"; // a cell lights up what looks at it
  const pointAt = (cell) => {
    if (cell === null || !isCellKey()) return state.point("query", cell);
    const place = partsOf(state.selection).first + cell;
    state.point("key", place < state.selection.keys.length ? place : null); // no cell comes after the last
  };
  const pinAt = (cell) => {
    if (cell === null || !isCellKey()) return state.pin(cell);
    const place = partsOf(state.selection).first + cell;
    if (place < state.selection.keys.length) state.pinKey(place);
  };
  const image = new DrawingImage(find("patches"), { point: pointAt, pin: pinAt });
  const words = new DrawingWords(find("caption"), {
    point: (place) => state.point("key", place), pin: (place) => state.pinKey(place),
  });
  const asWords = wordState(state, among);
  const panels = makeTabs(state, [
    ["strip", (host) => new WordStrip(host, asWords, { overlayOf, isOverImage: () => true })],
    ["heads", (host) => new DrawingHeads(host, state, { overlayOf, among })],
  ]);
  find("below-image").append(saveButtons("image", () => [image, "attention-drawing"]));
  const slider = find("written");

  const change = () => {
    const { run, selection, settings } = state, parts = partsOf(selection);
    find("source").textContent = [run.given ? say("a given image under the text") : "",
      runs.length > 1 ? "" : translated(run.name)].filter(Boolean).join(" · ");
    find("answer").textContent = run.answer;
    document.documentElement.style.setProperty("--image", `url("${run.image}")`);
    find("selection").textContent = `${titleOf(selection)} · ${sizeOf(selection)}`;
    find("remark").textContent = remarkOf(run);
    showControls(find("controls"), state, SHOWN[settings.tab]);
    find("controls").append(...drawingControls(state, { overlayOf, among }));
    image.show(selection, { numbers: settings.numbers ?? "none" });
    words.show(selection.keys.slice(0, parts.first), meanRow(selection.matrix));
    slider.max = selection.queries.length;
    showTab(panels, settings.tab, true);
  };
  const point = () => {
    const { selection, pointed, pinned, pinnedKey, settings: { written, tab } } = state;
    const { first } = partsOf(selection);
    const isCell = pointed?.side === "query", isWord = pointed?.side === "key" && pointed.place < first;
    const cellOf = (key) => (key !== null && key >= first ? key - first : null);
    const cell = isCell ? pointed.place : isWord || !pointed ? null : cellOf(pointed.place);
    const weights = !pointed ? null : isCell ? cellsLookedAt(selection, cell)
      : cellsLookingAt(selection, pointed.place, among());
    image.light(isCell && !largestOf(weights) ? null : weights, {
      pointed: cell, pinned: pinned ?? cellOf(pinnedKey), overlay: overlayOf(), after: isCell ? cell : null,
      drawn: written,
    });
    words.light(isCell ? rowOf(selection.matrix, cell).subarray(0, first) : null, {
      pointed: isWord ? pointed.place : null, pinned: pinnedKey !== null && pinnedKey < first ? pinnedKey : null,
    });
    showPointedDrawing(find("pointed"), selection, pointed, among());
    find("spoken").textContent = spokenOfDrawing(selection, pointed, among());
    find("scale").textContent = scaleOf({ pointed, weights, isCell, isWord, among: among() });
    slider.value = written ?? selection.queries.length;
    find("count").textContent = say("{count} of {all}", { count: slider.value, all: selection.queries.length });
    panels[tab].light();
  };
  state.on("change", change);
  state.on("point", point);
  const player = makeGrowing(state, slider);
  followAppearance(() => state.set({}));
  followLanguage(() => {
    player.name();
    state.set({});
  });
  // Arrow keys walk over the cells from wherever nothing else has use for them.
  document.addEventListener("keydown", (event) => {
    if (event.target !== document.body || !event.key.startsWith("Arrow")) return;
    image.focus(state.pinned ?? 0);
    event.preventDefault();
  });
  change();
  point();
}

// The state as a caption's words have it: its words are what cells of the drawing look at.
function wordState(state, among) {
  const places = () => partsOf(state.selection).words, numberOf = (key) => {
    const found = places().indexOf(key);
    return found < 0 ? null : found;
  };
  return Object.create(state, {
    selection: { get: () => {
      const { selection } = state, matrix = wordMaps(selection, among());
      return { ...selection, matrix, queries: places().map((place) => selection.keys[place]) };
    } },
    settings: { get: () => ({ ...state.settings, written: null }) },
    run: { get: () => state.run },
    pinned: { get: () => (state.pinnedKey === null ? null : numberOf(state.pinnedKey)) },
    pointed: { get: () => {
      const { pointed } = state, place = pointed?.side === "key" ? numberOf(pointed.place) : null;
      return place === null ? null : { side: "query", place };
    } },
    point: { value: (side, number) => state.point("key", number === null ? null : places()[number]) },
    pin: { value: (number) => state.pinKey(number === null ? null : places()[number]) },
  });
}

// The slider draws the image cell by cell, and so does the button.
function makeGrowing(state, slider) {
  const last = () => state.selection.queries.length;
  slider.addEventListener("input", () => state.write(Number(slider.value)));
  const pace = () => Math.max(SHORTEST, Math.min(LONGEST, WHOLE / last()));
  const player = makePlayer({
    button: find("play"), last, at: () => state.settings.written ?? last(), go: state.write, pace, first: 1,
  });
  for (const event of ["pointerdown", "keydown"]) slider.addEventListener(event, player.stop);
  return player;
}

// What only drawings have stands behind the other controls.
function drawingControls({ settings, set }, { overlayOf, among }) {
  const sides = [{ value: "query", text: say("looks at") }, { value: "key", text: say("is looked at by") }];
  const counted = [
    { value: "all", text: say("all attention"),
      title: say("The first cells look at words the most, because there is little else to look at") },
    { value: "words", text: say("attention to words"),
      title: say("Which of the words a cell looked at, however much it looked at words at all") },
  ];
  const numbers = [
    { value: "none", text: say("nothing") },
    { value: "probability", text: say("probability"), title: say("Of the code that was chosen, in %") },
    { value: "code", text: say("code"), title: say("The number of the code that was chosen") },
  ];
  const overlays = [
    { value: "light", text: say("light"), title: say("A veil is lifted where it looks") },
    { value: "heat", text: say("heat"), title: say("Heat is laid where it looks") },
  ];
  const asked = (label, name, options, value) => radios(label, { name, options, value, choose: set });
  return [
    asked(say("a cell"), "cell", sides, settings.cell ?? "query"),
    asked(say("a word's map counts"), "among", counted, among()),
    asked(say("in the cells"), "numbers", numbers, settings.numbers ?? "none"),
    asked(say("shown as"), "overlay", overlays, overlayOf()),
  ];
}

function sizeOf({ run, settings }) {
  const { rows, columns } = run.grids[settings.kind];
  return say("{rows} × {columns} cells", { rows, columns });
}

// What to know of the maps.
function remarkOf({ given, guidance }) {
  const order = say("Cells are drawn row by row; each looks at the text and at the cells drawn before it.");
  if (given) return `${order} ${say("This image was given; it is shown as its codes tell it.")}`;
  if (guidance === 1) return order;
  const told = say("It was drawn with guidance {scale}; weights and probabilities are of the pass with the text.", {
    scale: guidance,
  });
  return `${order} ${told}`;
}

function scaleOf({ pointed, weights, isCell, isWord, among }) {
  if (!pointed) return "";
  const most = percent(largestOf(weights));
  if (isCell && !largestOf(weights)) return say("No cell was drawn before this one: it looks at the text alone.");
  if (isCell) return say("The brightest earlier cell has {most} of this cell's attention.", { most });
  if (isWord && among === "words") {
    return say("The brightest cell gave this word {most} of its attention to words.", { most });
  }
  return say("The brightest cell gave it {most} of its attention.", { most });
}

startPage(start);
