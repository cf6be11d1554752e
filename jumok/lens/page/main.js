// The page put together: reads the record, keeps the parts in step with what the viewer chooses.
import { Answers } from "./answers.js";
import { showBeside, spokenOf } from "./beside.js";
import { make } from "./build.js";
import { theme } from "./colour.js";
import { Compare } from "./compare.js";
import { showControls } from "./controls.js";
import { Grid } from "./grid.js";
import { Lines } from "./lines.js";
import { unpack } from "./numbers.js";
import { Positions } from "./positions.js";
import { readRuns } from "./record.js";
import { save } from "./saving.js";
import { titleOf } from "./seen.js";
import { makeState } from "./state.js";
import { Steps } from "./steps.js";
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
  const panels = makeTabs(state);
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
    showTab(panels, state, choice.tab);
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

function makeTabs(state) {
  const panels = {};
  for (const [name, title, Panel] of TABS) {
    if (name === "compare" && state.runs.length < 2) continue;
    const tab = make("button", { role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, text: title, onclick: () => state.set({ tab: name }) });
    const host = make("section", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: -1 });
    find("tabs").append(tab);
    find("panels").append(host);
    panels[name] = new Panel(host, state);
  }
  find("tabs").addEventListener("keydown", (event) => {
    const names = Object.keys(panels), place = names.indexOf(state.choice.tab);
    const goal = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: names.length - 1 }[event.key];
    if (goal === undefined || goal < 0 || goal >= names.length) return;
    state.set({ tab: names[goal] });
    find(`tab-${names[goal]}`).focus();
    event.preventDefault();
  });
  for (const kind of ["png", "svg"]) {
    find(`save-${kind}`).addEventListener("click", () => save(panels[state.choice.tab], kind, `attention-${state.choice.tab}`));
  }
  return panels;
}

function showTab(panels, state, chosen) {
  for (const name of Object.keys(panels)) {
    find(`panel-${name}`).hidden = name !== chosen;
    find(`tab-${name}`).setAttribute("aria-selected", String(name === chosen));
    find(`tab-${name}`).tabIndex = name === chosen ? 0 : -1;
  }
  find("saves").hidden = !FIGURES.includes(chosen) || (!state.seen.grid && chosen !== "positions");
  panels[chosen].show();
}

function listen(state, words) {
  const again = () => state.set({});
  find("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    again();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  let width = innerWidth, waiting;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(again, 100);
  });
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
