// What the model said of the image: its classes, and how much of each cell reached the verdict.
import { bars } from "./beside.js";
import { make } from "./build.js";
import { covers } from "./cover.js";
import { pixels } from "./pen.js";

const CLASSES = 6;

export function showVerdict(host, run, how) {
  const parts = [];
  if (run.classes.length) {
    const rows = run.classes.slice(0, CLASSES).map(([label, share], place) => [label, share, place ? "" : "chosen"]);
    parts.push(make("h3", { text: "classes" }), bars(rows, "classes"));
    if (run.classes.length > CLASSES) parts.push(make("p", { class: "hint", text: `and ${run.classes.length - CLASSES} less likely ones` }));
  }
  if (run.heat) {
    parts.push(make("h3", { text: "what reached the verdict" }), heatOf(run, how));
    parts.push(make("p", { class: "hint", text: "attention rollout through all layers" }));
  }
  host.replaceChildren(...parts);
}

function heatOf(run, how) {
  const [rows, columns] = run.heat.shape, most = run.heat.values.reduce((largest, share) => Math.max(largest, share), 0);
  const heat = pixels({ rows, columns, values: run.heat.values.map((share) => (most ? share / most : 0)) }, covers(how));
  const best = run.heat.values.indexOf(most);
  return make("div", { class: "rollout", role: "img", "aria-label": `most came from row ${Math.floor(best / columns) + 1}, column ${(best % columns) + 1}`, style: `aspect-ratio: ${run.width} / ${run.height}` },
    run.image ? make("img", { alt: "", src: run.image }) : null, heat);
}
