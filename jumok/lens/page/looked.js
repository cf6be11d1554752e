// Beside the image: the place pointed at, and the patches of the strongest weights, cut out of the image.
import { bars } from "./beside.js";
import { make, percent } from "./build.js";
import { layoutOf, litBy, nameOf, strongest } from "./places.js";

const STRONGEST = 6;

export function showLooked(host, seen, pointed, pinned) {
  const { weights, name, verb } = litBy(seen, pointed);
  const layout = layoutOf(seen);
  const rows = strongest(seen, weights, STRONGEST).map(({ label, place, weight }) => [[cutOut(place, layout), label.includes(",") ? label.replace(",", ", ") : "class token"], weight]);
  const parts = [make("h2", { class: "told", text: name }), make("h3", { text: `${verb} (row, column)` }), bars(rows, "weights", rows[0]?.[1])];
  if (pointed && pinned !== null && pinned !== pointed.place) parts.push(make("p", { class: "pair-told", text: pairOf(seen, pinned, pointed.place) }));
  host.replaceChildren(...parts);
}

// What a screen reader hears, and nobody else.
export function spokenOf(seen, pointed) {
  if (!pointed) return "";
  const { weights, name, verb } = litBy(seen, pointed);
  return `${name} ${verb} ${strongest(seen, weights, 3).map(({ label, weight }) => `${nameOf(label)} ${percent(weight, 0)}`).join("; ")}.`;
}

function pairOf({ grid, keys }, from, to) {
  return `pinned ${nameOf(keys[from].label)} → ${nameOf(keys[to].label)}: ${percent(grid.values[from * grid.columns + to], 2)}`;
}

function cutOut(place, { rows, columns, special }) {
  const cell = place - special, part = (number, count) => (count > 1 ? (100 * number) / (count - 1) : 0);
  if (cell < 0) return make("span", { class: "cut token", "aria-hidden": "true", text: "◆" });
  return make("span", { class: "cut", "aria-hidden": "true", style: `background-size: ${100 * columns}% ${100 * rows}%; background-position: ${part(cell % columns, columns)}% ${part(Math.floor(cell / columns), rows)}%` });
}
