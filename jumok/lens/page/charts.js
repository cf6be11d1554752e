// A small chart: values by step, a marker at the step that is shown. A click goes to the nearest step.
import { explained, make, makeSvg } from "./elements.js";
import { say } from "./texts.js";

const WIDTH = 260, HEIGHT = 90, LEFT = 4, RIGHT = 8, TOP = 14, BOTTOM = 16;

export class Chart {
  // titleOf() stands above it, meaningOf() explains it on hover; format(value) writes a value; go(step) is told where
  // a click leads.
  constructor(host, name, { titleOf, meaningOf, format, go }) {
    Object.assign(this, { titleOf, meaningOf, format });
    this.value = make("b");
    this.title = make("span");
    this.svg = makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    const caption = make("figcaption", {}, this.title, this.value);
    host.append(make("figure", { class: "chart", "data-chart": name }, caption, this.svg));
    this.svg.addEventListener("click", (event) => {
      const box = this.svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * WIDTH;
      go(((x - LEFT) / (WIDTH - LEFT - RIGHT)) * this.last);
    });
  }

  // values are [step, value]; last is the last step of the film.
  show(values, last) {
    this.values = values;
    this.last = Math.max(last, 1);
    this.title.textContent = this.titleOf();
    Object.entries(explained(this.meaningOf())).forEach(([key, text]) => this.title.setAttribute(key, text));
    const numbers = values.map(([, value]) => value), { format } = this;
    const least = Math.min(0, ...numbers), most = Math.max(...numbers, least + 1e-9);
    this.x = (step) => LEFT + (step / this.last) * (WIDTH - LEFT - RIGHT);
    this.y = (value) => HEIGHT - BOTTOM - ((value - least) / (most - least)) * (HEIGHT - TOP - BOTTOM);
    const points = values.map(([step, value]) => `${this.x(step).toFixed(1)},${this.y(value).toFixed(1)}`);
    const dots = values.map(([step, value]) => makeSvg("circle", {
      cx: this.x(step), cy: this.y(value), r: 1.8, "data-step": step, "data-value": value,
    }));
    this.marker = makeSvg("line", { class: "now", y1: TOP, y2: HEIGHT - BOTTOM });
    this.dot = makeSvg("circle", { class: "now", r: 4 });
    this.svg.replaceChildren(
      makeSvg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
      makeSvg("polyline", { class: "values", points: points.join(" ") }),
      ...dots,
      label(LEFT, TOP - 4, format(most), "start"),
      label(LEFT, HEIGHT - 3, "0", "start"),
      label(WIDTH - RIGHT, HEIGHT - 3, stepTold(this.last), "end"),
      this.marker, this.dot,
    );
    const ends = [values[0], values.at(-1)].map(([step, value]) => `${stepTold(step)} ${format(value)}`);
    this.svg.setAttribute("aria-label", `${this.titleOf()}: ${ends.join(", ")}`);
  }

  // Mark the value at a step; before the first evaluation there is no score.
  mark(step) {
    const found = this.values.find(([own]) => own === step);
    this.marker.setAttribute("x1", this.x(step));
    this.marker.setAttribute("x2", this.x(step));
    this.dot.style.display = found ? "" : "none";
    if (found) {
      this.dot.setAttribute("cx", this.x(step));
      this.dot.setAttribute("cy", this.y(found[1]));
    }
    this.value.textContent = found ? this.format(found[1]) : "–";
  }
}

export function stepTold(step) {
  return say("step {step}", { step: step.toLocaleString("en") });
}

function label(x, y, text, anchor) {
  const element = makeSvg("text", { x, y, "text-anchor": anchor });
  element.textContent = text;
  return element;
}
