// The classes of a text or an image with their probabilities, the likeliest first.
import { bars } from "./bars.js";
import { make } from "./elements.js";
import { say } from "./texts.js";

const CLASSES = 6;

// A heading and bars; chosen is the label of the class that is shown.
export function classBars(classes, chosen = classes[0]?.label) {
  if (!classes.length) return [];
  const rows = classes.slice(0, CLASSES).map(({ label, probability }) => (
    [label, probability, label === chosen ? "chosen" : ""]));
  const children = [make("h3", { text: say("classes") }), bars(rows, "classes")];
  const count = classes.length - CLASSES;
  if (count > 0) children.push(make("p", { class: "hint", text: say("and {count} less likely ones", { count }) }));
  return children;
}
