// The classes of a text or an image with their probabilities, the likeliest first.
import { bars } from "./bars.js";
import { make } from "./elements.js";

const CLASSES = 6;

// classes are [label, probability]; chosen is the label of the one that is shown.
export function classBars(classes, chosen = classes[0]?.[0]) {
  if (!classes.length) return [];
  const rows = classes.slice(0, CLASSES).map(([label, share]) => [label, share, label === chosen ? "chosen" : ""]);
  const children = [make("h3", { text: "classes" }), bars(rows, "classes")];
  if (classes.length > CLASSES) {
    children.push(make("p", { class: "hint", text: `and ${classes.length - CLASSES} less likely ones` }));
  }
  return children;
}
