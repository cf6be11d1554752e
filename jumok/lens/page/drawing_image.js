// The drawing in its grid: cells light up by weight, later ones are faded, numbers stand in them on request.
import { make } from "./elements.js";
import { hundredths } from "./formats.js";
import { Patches } from "./patches.js";

export class DrawingImage extends Patches {
  // A selection of the drawing; its cells stand for keys, as every one of them can be pointed at.
  show(selection, { numbers }) {
    super.show({ ...selection, keys: selection.queries });
    const { choices } = selection.run;
    this.root.style.setProperty("--columns", this.grid.columns);
    this.places.forEach((place, cell) => {
      const { token, probability } = choices[cell];
      const text = { code: token, probability: hundredths(probability) }[numbers];
      place.replaceChildren(...(text === undefined ? [] : [make("span", { class: "in-cell", text })]));
    });
  }

  // weights of each cell, or null: nothing lies over the image. after: cells from this one on come later than what is
  // pointed at; drawn: those from this one on are not drawn yet.
  light(weights, { pointed, pinned, overlay, after = null, drawn = null }) {
    super.light(weights ?? this.places.map(() => 0), { pointed, pinned, overlay });
    if (!weights) this.lit = null;
    this.places.forEach((place, cell) => {
      if (!weights) {
        place.style.background = "";
        delete place.dataset.weight;
      }
      place.classList.toggle("later", after !== null && cell >= after && cell !== pointed);
      place.classList.toggle("undrawn", drawn !== null && cell >= drawn);
      if (cell === pointed && after !== null) place.style.background = "";
    });
  }
}
