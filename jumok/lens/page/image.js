// The page of an image put together: reads the record, keeps the views in step with what the viewer chooses.
import { followAppearance } from "./appearance.js";
import { showClassification } from "./classification.js";
import { weightColours } from "./colour.js";
import { radios, showControls, sideControl } from "./controls.js";
import { find } from "./elements.js";
import { percent } from "./formats.js";
import { ImageHeads } from "./image_heads.js";
import { gridOf, largestOf, litBy, nameOf, sharesOf } from "./patch_grid.js";
import { Patches } from "./patches.js";
import { showPointedPatch, spokenOf } from "./pointed_patch.js";
import { Positions } from "./positions.js";
import { readRuns } from "./record.js";
import { saveButtons } from "./saving.js";
import { titleOf } from "./selection.js";
import { makeState } from "./state.js";
import { StepByStep } from "./step_by_step.js";
import { makeTabs, showTab } from "./tabs.js";
import { followLanguage, say, translated } from "./texts.js";
import { startPage } from "./unpacking.js";
import { WeightMap } from "./weight_map.js";

const PATCHES = { isPatches: true, named: (item) => nameOf(item.label) };

const IMAGE_CONTROLS = { heads: ["combine"] }; // the image shows several heads at once under this tab, too

function start(data, arrays) {
  const runs = readRuns(data, arrays).map((run) => ({ ...run, heat: run.heat === null ? null : arrays[run.heat] }));
  const state = makeState(runs, { tab: "heads", canRollOut: runs.every((run) => run.kinds.length < 2) });
  const pointAt = (place) => state.point(state.sideOf("query"), place);
  const patches = new Patches(find("patches"), { point: pointAt, pin: state.pin });
  const panels = makeTabs(state, tabsOf(runs, state));
  find("below-image").append(saveButtons("image", () => [patches, "attention-image"]));

  const change = () => {
    const { run, selection, settings } = state, [best] = run.classes;
    find("source").textContent = [run.source, runs.length > 1 ? "" : run.name].filter(Boolean).join(" · ");
    find("answer").textContent = best ? `${best.label} ${percent(best.probability)}` : say("where it looks");
    document.documentElement.style.setProperty("--image", run.image ? `url("${run.image}")` : "none");
    find("selection").textContent = selection.matrix ? `${titleOf(selection)} · ${sizeOf(selection)}` : "";
    find("note").textContent = translated(run.note);
    find("note").hidden = !run.note;
    showControls(find("controls"), state, IMAGE_CONTROLS[settings.tab]);
    if (selection.matrix) find("controls").append(...imageControls(state));
    showClassification(find("classification"), run, overlayOf(state));
    patches.show(selection);
    find("below-image").hidden = find("views").hidden = find("pointed").hidden = !selection.matrix;
    if (selection.matrix) showTab(panels, settings.tab, settings.tab !== "steps");
  };
  const point = () => {
    const { selection, pinned, settings } = state;
    if (!selection.matrix) return;
    const { pointed } = state, { weights, told } = litBy(selection, pointed), grid = gridOf(selection);
    const shown = pointed?.place ?? (grid.special ? 0 : null);
    patches.light(weights, { pointed: shown, pinned, overlay: overlayOf(state) });
    showPointedPatch(find("pointed"), selection, pointed, pinned);
    const most = percent(sharesOf(weights, grid).most);
    find("scale").textContent = `${told} ${say("The strongest patch has {most}.", { most })}`;
    find("spoken").textContent = spokenOf(selection, pointed);
    panels[settings.tab].light();
  };
  state.on("change", change);
  state.on("point", point);
  followAppearance(() => state.set({}));
  followLanguage(() => state.set({}));
  // Arrow keys begin to walk from wherever nothing else has use for them.
  document.addEventListener("keydown", (event) => {
    if (event.target !== document.body || !event.key.startsWith("Arrow")) return;
    patches.focus(state.pinned ?? 0);
    event.preventDefault();
  });
  change();
  point();
}

function tabsOf(runs, state) {
  const hasDetails = runs.some((run) => run.maps.some((map) => map.details));
  const hasPositions = runs.some((run) => run.positions.length);
  return [
    ["heads", (host) => new ImageHeads(host, state)],
    ["map", (host) => new WeightMap(host, state, coloursUpTo)],
    ...(hasDetails ? [["steps", (host) => new StepByStep(host, state, PATCHES)]] : []),
    ...(hasPositions ? [["positions", (host) => new Positions(host, state)]] : []),
  ];
}

// A dark image is no brighter where a veil is lifted.
function overlayOf({ settings, run }) {
  return settings.overlay ?? (run.dark ? "heat" : "light");
}

// Weights on hundreds of patches are small: the strongest has the strongest colour.
function coloursUpTo({ values }) {
  const colours = weightColours(), most = largestOf(values);
  return (weight) => colours(most ? weight / most : 0);
}

// Two controls that only images have stand behind the others.
function imageControls(state) {
  const overlays = [
    { value: "light", text: say("light"), title: say("A veil is lifted where it looks") },
    { value: "heat", text: say("heat"), title: say("Heat is laid where it looks") },
  ];
  return [
    sideControl(state, say("a patch")),
    radios(say("shown as"), { name: "overlay", options: overlays, value: overlayOf(state), choose: state.set }),
  ];
}

function sizeOf({ run, settings }) {
  const { rows, columns, block } = run.grids[settings.kind];
  if (block === 1) return say("{rows} × {columns} patches", { rows, columns });
  return say("{rows} × {columns} blocks of {block} × {block} patches", { rows, columns, block });
}

startPage(start);
