// What the model makes of the image: its classes with their probabilities, and how much of each patch reached them.
import { classBars } from "./classes.js";
import { make } from "./elements.js";
import { overlayColours } from "./overlay.js";
import { largestOf } from "./patch_grid.js";
import { pixels } from "./renderers.js";
import { say } from "./texts.js";

export function showClassification(host, { classes, ...run }, overlay) {
  const children = classBars(classes);
  if (run.heat) {
    children.push(make("h3", { text: say("how much of each patch reached the output") }), heatOf(run, overlay));
    children.push(hint(say("attention followed through all layers (rollout)")));
  }
  host.replaceChildren(...children);
}

function hint(text) {
  return make("p", { class: "hint", text });
}

function heatOf({ heat, image, width, height }, overlay) {
  const [rows, columns] = heat.shape, most = largestOf(heat.values), best = heat.values.indexOf(most);
  const values = heat.values.map((share) => (most ? share / most : 0));
  const place = { row: Math.floor(best / columns) + 1, column: (best % columns) + 1 };
  const description = say("most came from row {row}, column {column}", place);
  const properties = { role: "img", "aria-label": description, style: `aspect-ratio: ${width} / ${height}` };
  return make("div", { class: "rollout", ...properties },
    image ? make("img", { alt: "", src: image }) : null, pixels({ rows, columns, values }, overlayColours(overlay)));
}
