// A small chart: values by step, a marker at the step that is shown. A click goes to the nearest step.
import { make } from "./build.js";

const WIDTH = 260, HEIGHT = 90, LEFT = 4, RIGHT = 8, TOP = 14, BOTTOM = 16;

export class Chart {
  constructor(host, name, { write, go }) {
    this.name = name;
    this.write = write;
    this.value = make("b");
    this.svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    host.append(make("figure", { class: "chart", "data-chart": name }, make("figcaption", {}, make("span", { text: name }), this.value), this.svg));
    this.svg.addEventListener("click", (event) => {
      const box = this.svg.getBoundingClientRect();
      const share = ((event.clientX - box.left) / box.width) * WIDTH;
      go(((share - LEFT) / (WIDTH - LEFT - RIGHT)) * this.last);
    });
  }

  // values are [step, value]; last is the last step of the film.
  show(values, last) {
    this.values = values;
    this.last = Math.max(last, 1);
    const numbers = values.map(([, value]) => value);
    const least = Math.min(0, ...numbers), most = Math.max(...numbers, least + 1e-9);
    this.x = (step) => LEFT + (step / this.last) * (WIDTH - LEFT - RIGHT);
    this.y = (value) => HEIGHT - BOTTOM - ((value - least) / (most - least)) * (HEIGHT - TOP - BOTTOM);
    const points = values.map(([step, value]) => `${this.x(step).toFixed(1)},${this.y(value).toFixed(1)}`);
    this.marker = draw("line", { class: "now", y1: TOP, y2: HEIGHT - BOTTOM });
    this.dot = draw("circle", { class: "now", r: 4 });
    this.svg.replaceChildren(
      draw("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
      draw("polyline", { class: "course", points: points.join(" ") }),
      ...values.map(([step, value]) => draw("circle", { cx: this.x(step), cy: this.y(value), r: 1.8, "data-step": step, "data-value": value })),
      label(LEFT, TOP - 4, this.write(most), "start"),
      label(LEFT, HEIGHT - 3, "0", "start"),
      label(WIDTH - RIGHT, HEIGHT - 3, `step ${this.last.toLocaleString("en")}`, "end"),
      this.marker, this.dot,
    );
    const [first, end] = [values[0], values.at(-1)];
    this.svg.setAttribute("aria-label", `${this.name} by step: ${this.write(first[1])} at step ${first[0]}, ${this.write(end[1])} at step ${end[0]}`);
  }

  // The value at a step, or none: before the first evaluation there is no score.
  mark(step) {
    const found = this.values.find(([own]) => own === step);
    this.marker.setAttribute("x1", this.x(step));
    this.marker.setAttribute("x2", this.x(step));
    this.dot.style.display = found ? "" : "none";
    if (found) {
      this.dot.setAttribute("cx", this.x(step));
      this.dot.setAttribute("cy", this.y(found[1]));
    }
    this.value.textContent = found ? this.write(found[1]) : "–";
  }
}

function draw(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function label(x, y, words, anchor) {
  const element = draw("text", { x, y, "text-anchor": anchor });
  element.textContent = words;
  return element;
}
