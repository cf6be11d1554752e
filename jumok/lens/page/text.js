// The page of a text put together: reads the record, keeps the views in step with what the viewer chooses.
import { Answers } from "./answers.js";
import { followAppearance } from "./appearance.js";
import { Compare } from "./compare.js";
import { showControls } from "./controls.js";
import { find } from "./elements.js";
import { Heads } from "./heads.js";
import { Lines } from "./lines.js";
import { showPointedWord, spokenOf } from "./pointed_word.js";
import { Positions } from "./positions.js";
import { readRuns } from "./record.js";
import { titleOf } from "./selection.js";
import { makeState } from "./state.js";
import { StepByStep } from "./step_by_step.js";
import { makeTabs, showTab } from "./tabs.js";
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
  ["answers", "Answers", Answers],
];
const FIGURES = ["lines", "map", "heads", "positions"]; // tabs that can be saved

function start({ words: opensWithWords, ...data }, arrays) {
  const runs = readRuns(data, arrays), areSeveral = runs.length > 1;
  const state = makeState(runs, { words: opensWithWords, tab: areSeveral ? "compare" : "lines" });
  const words = new Words(find("sentence"), { point: state.point, pin: state.pin });
  const tabs = TABS.filter(([name]) => name !== "compare" || areSeveral);
  const panels = makeTabs(state, tabs.map(([name, title, View]) => [name, title, (host) => new View(host, state)]));
  const slider = find("written");

  const change = () => {
    const { run, selection, settings } = state;
    find("source").textContent = run.source;
    find("answer").textContent = run.answer || (run.source ? "" : run.name);
    find("selection").textContent = selection.matrix ? titleOf(selection) : "";
    showControls(find("controls"), state);
    words.show(selection);
    slider.max = selection.queries.length;
    find("writing").hidden = !(run.written && selection.querySide === run.sides[run.output]);
    const { tab } = settings;
    showTab(panels, tab, FIGURES.includes(tab) && (selection.matrix || tab === "positions"));
  };
  const point = () => {
    const { selection, pointed, pinned, settings } = state;
    words.light(pointed, pinned, settings.written);
    showPointedWord(find("pointed"), selection, pointed);
    find("spoken").textContent = spokenOf(selection, pointed);
    slider.value = settings.written ?? selection.queries.length;
    find("count").textContent = `${slider.value} of ${selection.queries.length}`;
    panels[settings.tab].light();
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

startPage(start);
