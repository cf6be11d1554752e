// The page of a text put together: reads the record, keeps the views in step with what the viewer chooses.
import { Answers } from "./answers.js";
import { followAppearance } from "./appearance.js";
import { classBars } from "./classes.js";
import { Compare } from "./compare.js";
import { showControls } from "./controls.js";
import { find } from "./elements.js";
import { Heads } from "./heads.js";
import { Lines } from "./lines.js";
import { isDecided, showPointedWord, spokenOf } from "./pointed_word.js";
import { Positions } from "./positions.js";
import { readRuns } from "./record.js";
import { titleOf } from "./selection.js";
import { makeState } from "./state.js";
import { StepByStep } from "./step_by_step.js";
import { makeTabs, showTab } from "./tabs.js";
import { TokenWorth } from "./token_worth.js";
import { startPage } from "./unpacking.js";
import { WeightMap } from "./weight_map.js";
import { Words } from "./words.js";

const TABS = [
  ["compare", "Side by side", Compare],
  ["lines", "Lines", Lines],
  ["map", "Map", WeightMap],
  ["heads", "Heads", Heads],
  ["steps", "Step by step", StepByStep],
  ["positions", "Positions", Positions],
  ["tokens", "Tokens", TokenWorth],
  ["answers", "Answers", Answers],
];
const FIGURES = ["lines", "map", "heads", "positions"]; // tabs that can be saved

function start({ words: opensWithWords, ...data }, arrays) {
  const runs = readRuns(data, arrays), tabs = tabsOf(runs);
  const state = makeState(runs, { words: opensWithWords, tab: tabs[0]?.[0] });
  const words = new Words(find("sentence"), { point: state.point, pin: state.pin });
  const panels = makeTabs(state, tabs.map(([name, title, View]) => [name, title, (host) => new View(host, state)]));
  const slider = find("written");

  const change = () => {
    const { run, selection, settings } = state;
    find("source").textContent = run.source;
    find("answer").textContent = run.answer || (run.source ? "" : run.name);
    find("selection").textContent = selection.matrix ? titleOf(selection) : "";
    showControls(find("controls"), state);
    words.show(selection);
    find("classes").replaceChildren(...classBars(run.classes.map(({ label, probability }) => [label, probability])));
    slider.max = selection.queries.length;
    slider.min = firstWritten(selection);
    find("writing").hidden = !(run.written && selection.querySide === run.sides[run.output]);
    find("pointed").hidden = !selection.matrix && !run.choices.length;
    const { tab } = settings;
    find("views").hidden = !tab;
    if (tab) showTab(panels, tab, FIGURES.includes(tab) && (selection.matrix || tab === "positions"));
  };
  const point = () => {
    const { selection, pointed, pinned, settings } = state;
    words.light(pointed, pinned, settings.written);
    showPointedWord(find("pointed"), selection, pointed);
    find("spoken").textContent = spokenOf(selection, pointed);
    slider.value = settings.written ?? selection.queries.length;
    find("count").textContent = `${slider.value} of ${selection.queries.length}`;
    panels[settings.tab]?.light();
  };
  state.on("change", change);
  state.on("point", point);
  slider.addEventListener("input", () => state.write(Number(slider.value)));
  followAppearance(() => state.set({}));
  // Arrow keys walk from wherever nothing else has use for them.
  document.addEventListener("keydown", (event) => {
    if (event.target !== document.body || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const place = state.pointed?.side === "query" ? state.pointed.place + (event.key === "ArrowRight" ? 1 : -1) : 0;
    words.focus("query", Math.max(0, Math.min(state.selection.queries.length - 1, place)));
    event.preventDefault();
  });
  change();
  point();
}

// The views that have something to show.
function tabsOf(runs) {
  const isThere = {
    compare: runs.length > 1,
    tokens: runs.some((run) => run.tokens.length),
    answers: runs.some((run) => run.answers.length || !(run.choices.length || run.classes.length)),
  };
  const hasAttention = runs.some((run) => run.maps.length);
  return TABS.filter(([name]) => isThere[name] ?? hasAttention);
}

// What was given stands there from the beginning: the slider goes back to the first word that the model chose.
function firstWritten({ run, queries, writes }) {
  return writes ? Math.max(0, queries.findIndex((item) => isDecided(run, item))) : 0;
}

startPage(start);
