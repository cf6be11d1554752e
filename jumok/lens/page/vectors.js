// Vectors as strips of colours: point at one for a number, click it for all of them.
import { css, signedColours } from "./colour.js";
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { say } from "./texts.js";

export class Vectors {
  constructor() {
    const text = say("Point at a strip of colours for a number; click it for all.");
    this.readout = make("p", { class: "readout", text });
    this.all = make("p", { class: "all-numbers", hidden: true, tabindex: 0 });
  }

  // A strip with a caption before it; isNew: it has come with the step that is shown.
  strip({ caption, name, numbers, most = largestOf(numbers), isNew = false }) {
    return make("div", { class: isNew ? "vector new" : "vector" },
      make("span", { class: "caption", text: caption }), this.canvas(name, numbers, most));
  }

  canvas(name, numbers, most) {
    const first = Array.from(numbers.slice(0, 4), (value) => decimal(value, 2)).join(", ");
    const canvas = make("canvas", { class: "numbers", role: "img", "aria-label": `${name}: ${first}, …` });
    canvas.width = Math.max(numbers.length, 1);
    canvas.height = 1;
    const context = canvas.getContext("2d"), colours = signedColours(most);
    numbers.forEach((value, place) => {
      context.fillStyle = css(colours(value));
      context.fillRect(place, 0, 1, 1);
    });
    canvas.addEventListener("pointermove", (event) => {
      const at = Math.floor((event.offsetX / canvas.clientWidth) * numbers.length);
      const place = Math.min(numbers.length - 1, Math.max(0, at)), values = { name, number: place + 1 };
      const where = say("{name}, number {number} of {count}", { ...values, count: numbers.length });
      this.readout.textContent = `${where}: ${decimal(numbers[place])}`;
    });
    canvas.addEventListener("click", () => {
      this.all.hidden = false;
      this.all.textContent = `${name} = [${Array.from(numbers, (value) => value.toFixed(3)).join(", ")}]`;
    });
    return canvas;
  }
}

export function largestOf(...arrays) {
  let most = 0;
  for (const array of arrays) for (const value of array) most = Math.max(most, Math.abs(value));
  return most;
}
