// The patch pointed at, told beside the image: the patches of its strongest weights, cut out of the image.
import { bars } from "./bars.js";
import { make } from "./elements.js";
import { percent } from "./formats.js";
import { gridOf, litBy, nameOf, strongest } from "./patch_grid.js";
import { say } from "./texts.js";

const STRONGEST = 6;

export function showPointedPatch(host, selection, pointed, pinned) {
  const { weights, name, verb } = litBy(selection, pointed), grid = gridOf(selection);
  const rows = strongest(selection, weights, STRONGEST).map(({ label, place, weight }) => {
    const text = label.includes(",") ? label.replace(",", ", ") : say("class token");
    return [[cutOut(place, grid), text], weight];
  });
  const children = [
    make("h2", { class: "pointed-name", text: name }),
    make("h3", { text: say("{verb} (row, column)", { verb }) }),
    bars(rows, "weights", rows[0]?.[1]),
  ];
  if (pointed && pinned !== null && pinned !== pointed.place) {
    children.push(make("p", { class: "pair-weight", text: weightBetween(selection, pinned, pointed.place) }));
  }
  host.replaceChildren(...children);
}

// What a screen reader says; nobody sees it.
export function spokenOf(selection, pointed) {
  if (!pointed) return "";
  const { weights, name, verb } = litBy(selection, pointed), three = strongest(selection, weights, 3);
  const found = three.map(({ label, weight }) => `${nameOf(label)} ${percent(weight, 0)}`).join("; ");
  return say("{name} {verb} {found}.", { name, verb, found });
}

function weightBetween({ matrix, keys }, from, to) {
  const weight = matrix.values[from * matrix.columns + to];
  const values = { from: nameOf(keys[from].label), to: nameOf(keys[to].label), share: percent(weight, 2) };
  return say("pinned {from} → {to}: {share}", values);
}

export function cutOut(place, { rows, columns, special }) {
  const cell = place - special, share = (number, count) => (count > 1 ? (100 * number) / (count - 1) : 0);
  if (cell < 0) return make("span", { class: "cut token", "aria-hidden": "true", text: "◆" });
  const size = `${100 * columns}% ${100 * rows}%`;
  const position = `${share(cell % columns, columns)}% ${share(Math.floor(cell / columns), rows)}%`;
  const style = `background-size: ${size}; background-position: ${position}`;
  return make("span", { class: "cut", "aria-hidden": "true", style });
}
