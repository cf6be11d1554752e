// The page put together: reads the record, keeps the parts in step with what the viewer chooses.
import { Answers } from "./answers.js";
import { showBeside, spokenOf } from "./beside.js";
import { Compare } from "./compare.js";
import { showControls } from "./controls.js";
import { Grid } from "./grid.js";
import { Lines } from "./lines.js";
import { unpack } from "./numbers.js";
import { Positions } from "./positions.js";
import { readRuns } from "./record.js";
import { titleOf } from "./seen.js";
import { makeState } from "./state.js";
import { Steps } from "./steps.js";
import { makeTabs, showTab } from "./tabs.js";
import { followLooks } from "./theming.js";
import { Wall } from "./wall.js";
import { Words } from "./words.js";

const find = (name) => document.getElementById(name);
const TABS = [
  ["compare", "Side by side", Compare], ["lines", "Lines", Lines], ["map", "Map", Grid], ["heads", "Heads", Wall],
  ["steps", "Step by step", Steps], ["positions", "Positions", Positions], ["answers", "Answers", Answers],
];
const FIGURES = ["lines", "map", "heads", "positions"]; // tabs that can be saved

function start(data, arrays) {
  const state = makeState(readRuns(data, arrays), data);
  const words = new Words(find("sentence"), { point: state.point, pin: state.pin });
  const tabs = TABS.filter(([name]) => name !== "compare" || state.runs.length > 1);
  const panels = makeTabs(state, tabs.map(([name, title, Panel]) => [name, title, (host) => new Panel(host, state)]));
  const slider = find("written");

  const change = () => {
    const { run, seen, choice } = state;
    find("asked").textContent = run.source;
    find("said").textContent = run.answer;
    find("what").textContent = titleOf(seen);
    showControls(find("controls"), state);
    words.show(seen);
    slider.max = seen.queries.length;
    find("writing").hidden = !seen.writes;
    showTab(panels, choice.tab, FIGURES.includes(choice.tab) && (seen.grid || choice.tab === "positions"));
  };
  const point = () => {
    const { seen, pointed, pinned, choice } = state;
    words.light(pointed, pinned, choice.written);
    showBeside(find("beside"), seen, pointed);
    find("spoken").textContent = spokenOf(seen, pointed);
    slider.value = choice.written ?? seen.queries.length;
    find("count").textContent = `${slider.value} of ${seen.queries.length}`;
    panels[choice.tab].light?.();
  };
  state.on("change", change);
  state.on("point", point);
  slider.addEventListener("input", () => state.write(Number(slider.value)));
  listen(state, words);
  change();
  point();
  document.documentElement.dataset.ready = "";
}

function listen(state, words) {
  followLooks(() => state.set({}));
  // Arrow keys walk from wherever nothing else has use for them.
  document.addEventListener("keydown", (event) => {
    if (event.target !== document.body || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const place = state.pointed?.side === "query" ? state.pointed.place + (event.key === "ArrowRight" ? 1 : -1) : 0;
    words.focus("query", Math.max(0, Math.min(state.seen.queries.length - 1, place)));
    event.preventDefault();
  });
}

const data = JSON.parse(find("data").textContent);
unpack(find("numbers").textContent, data.arrays).then((arrays) => start(data, arrays));
