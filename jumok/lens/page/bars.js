// A list of labels, each with a bar and its share in percent.
import { make } from "./elements.js";
import { percent } from "./formats.js";

// rows are [label, share, class]; most is the share that a whole bar stands for.
export function bars(rows, name, most = 1) {
  return make("ul", { class: `bars ${name}` }, ...rows.map(([label, share, kind = ""]) => make("li", { class: kind },
    make("span", { class: "label" }, ...faded(label)),
    make("span", { class: "bar", style: `--share: ${Math.min(share / (most || 1), 1) || 0}` }),
    make("span", { class: "number", text: percent(share) }))));
}

// The mark of a space is paler than the letters. A label may also be a list of elements.
function faded(label) {
  if (typeof label !== "string") return label;
  const pieces = label.split(/(▁)/).filter(Boolean);
  return pieces.map((piece) => (piece === "▁" ? make("span", { class: "mark", text: piece }) : piece));
}
