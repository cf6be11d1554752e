// The page of an image put together: reads the record, keeps the parts in step with what the viewer chooses.
import { percent, segments } from "./build.js";
import { weightColours } from "./colour.js";
import { showControls } from "./controls.js";
import { shareColours } from "./cover.js";
import { Grid } from "./grid.js";
import { showLooked, spokenOf } from "./looked.js";
import { unpack } from "./numbers.js";
import { Patches } from "./patches.js";
import { distanceOf, layoutOf, litBy, nameOf, sharesOf } from "./places.js";
import { Positions } from "./positions.js";
import { readRuns } from "./record.js";
import { save } from "./saving.js";
import { titleOf } from "./seen.js";
import { makeState } from "./state.js";
import { Steps } from "./steps.js";
import { makeTabs, showTab } from "./tabs.js";
import { followLooks } from "./theming.js";
import { showVerdict } from "./verdict.js";
import { Wall } from "./wall.js";
import { figuresOf } from "./weights.js";

const find = (name) => document.getElementById(name);
const COLUMNS = [
  ["layer", "layer", 0, "Layer, counted from 1"],
  ["head", "head", 0, "Head, counted from 1"],
  ["entropy", "entropy", 2, "In nats: 0 looks at one patch, more at many"],
  ["distance", "distance", 2, "Patches between where it looks and its own place"],
  ["onEnd", "on class", 3, "Share of weight on the class token"],
];

function start(data, arrays) {
  const runs = readRuns(data, arrays).map((run) => ({ ...run, heat: run.heat === null ? null : arrays[run.heat] }));
  const state = makeState(runs, { tab: "heads", rolls: runs.every((run) => run.kinds.length < 2) });
  const patches = new Patches(find("patches"), { point: (place) => state.point("query", place), pin: state.pin });
  const wall = (host) => new ImageWall(host, state);
  const steps = (host) => new Steps(host, state, { thing: "patch", named: (item) => nameOf(item.label) });
  const tabs = [["heads", "Heads", wall], ["map", "Map", (host) => new Grid(host, state, coloursUpTo)]];
  if (runs.some((run) => run.maps.some((map) => map.parts))) tabs.push(["steps", "Step by step", steps]);
  if (runs.some((run) => run.positions.length)) tabs.push(["positions", "Positions", (host) => new Positions(host, state)]);
  const panels = makeTabs(state, tabs);
  for (const kind of ["png", "svg"]) find(`image-${kind}`).addEventListener("click", () => save(patches, kind, "attention-image"));

  const change = () => {
    const { run, seen, choice } = state, [label, share] = run.classes[0] ?? ["", 0];
    find("asked").textContent = [run.source, runs.length > 1 ? "" : run.name].filter(Boolean).join(" · ");
    find("said").textContent = label ? `${label} ${percent(share)}` : "where it looks";
    document.documentElement.style.setProperty("--image", run.image ? `url("${run.image}")` : "none");
    find("what").textContent = seen.grid ? `${titleOf(seen)} · ${sizeOf(seen)}` : "";
    find("note").textContent = run.note;
    find("note").hidden = !run.note;
    showControls(find("controls"), state);
    if (seen.grid) showManners(state);
    showVerdict(find("verdict"), run, shownAs(state));
    patches.show(seen);
    find("image-saves").hidden = find("views").hidden = find("looked").hidden = !seen.grid;
    if (seen.grid) showTab(panels, choice.tab, choice.tab !== "steps");
  };
  const point = () => {
    const { seen, pinned, choice } = state;
    if (!seen.grid) return;
    const pointed = pointedOf(state), { weights, told } = litBy(seen, pointed), layout = layoutOf(seen);
    patches.light(weights, { pointed: pointed?.place ?? (layout.special ? 0 : null), pinned, how: shownAs(state) });
    showLooked(find("looked"), seen, pointed, pinned);
    find("scale").textContent = `Lit: ${told}. The strongest patch has ${percent(sharesOf(weights, layout).most)}.`;
    find("spoken").textContent = spokenOf(seen, pointed);
    panels[choice.tab].light();
  };
  state.on("change", change);
  state.on("point", point);
  followLooks(() => state.set({}));
  // Arrow keys begin to walk from wherever nothing else has use for them.
  document.addEventListener("keydown", (event) => {
    if (event.target !== document.body || !event.key.startsWith("Arrow")) return;
    patches.focus(state.pinned ?? 0);
    event.preventDefault();
  });
  change();
  point();
  document.documentElement.dataset.ready = "";
}

// What is pointed at, else pinned: as the one that looks, or as the one looked at.
function pointedOf({ pointed, choice }) {
  return pointed && { place: pointed.place, side: choice.side ?? "query" };
}

// A dark image is no brighter where a veil is lifted.
function shownAs({ choice, run }) {
  return choice.shown ?? (run.dark ? "heat" : "light");
}

// Weights on hundreds of patches are small: the strongest has the strongest colour.
function coloursUpTo({ values }) {
  const colours = weightColours(), most = values.reduce((largest, weight) => Math.max(largest, weight), 0);
  return (weight) => colours(most ? weight / most : 0);
}

// Two choices that only images have stand behind the others.
function showManners(state) {
  const { choice } = state;
  find("controls").append(
    segments("a patch", "side", [{ value: "query", text: "looks" }, { value: "key", text: "is looked at" }], choice.side ?? "query", (side) => state.set({ side })),
    segments("shown as", "shown", [{ value: "light", text: "light" }, { value: "heat", text: "heat" }], shownAs(state), (shown) => state.set({ shown })),
  );
}

// The wall of heads, each as it looks from the place that is pointed at.
class ImageWall extends Wall {
  constructor(host, state) {
    super(host, state, {
      columns: COLUMNS.filter(([name]) => name !== "onEnd" || state.runs.some((run) => run.sides.some((side) => side.labels[0] === "[CLASS]"))),
      figures: (grid) => {
        const layout = layoutOf(state.seen), { entropy, onEnd } = figuresOf(grid, new Set(Array.from({ length: layout.special }, (_, place) => place)));
        return { entropy, onEnd, distance: distanceOf(grid, layout) };
      },
      drawn: ({ grid }) => sharesOf(litBy({ ...state.seen, grid }, pointedOf(state)).weights, layoutOf(state.seen)),
      colours: shareColours,
      opens: "heads",
    });
  }

  light() {
    this.redraw();
  }
}

function sizeOf(seen) {
  const { rows, columns, block } = seen.run.grids[seen.choice.kind];
  return `${rows} × ${columns} ${block > 1 ? `blocks of ${block} × ${block} patches` : "patches"}`;
}

const data = JSON.parse(find("data").textContent);
unpack(find("numbers").textContent, data.arrays).then((arrays) => start(data, arrays));
