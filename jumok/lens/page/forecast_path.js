// A path from above: where it came from, the ways it may go; the dots of the past grow by weight.
import { css, weightColours } from "./colour.js";
import { make, makeSvg } from "./elements.js";
import { pathOf, rangeOf, tickTold, ticksOf } from "./forecast_axes.js";
import { largestSize, slotsOf } from "./forecast_time.js";

const MOST = 470, EDGE = 34, REACH = 40; // pixels: of its height, of its margins, from the pointer to a dot

export class PathChart {
  constructor(host, { point }) {
    this.host = make("div", { class: "series-chart path-chart" });
    host.append(this.host);
    this.host.addEventListener("pointermove", (event) => point(this.#stepAt(event)));
    this.host.addEventListener("pointerleave", () => point(null));
  }

  show(run) {
    const width = Math.max(280, this.host.clientWidth || 640), lines = (name) => (run[name] ? run.placesOf(name) : []);
    const history = lines("history"), point = lines("point"), truth = lines("truth"), ways = run.pathWays();
    const places = [...history, ...point, ...truth, ...ways.flatMap(({ places: own }) => own)];
    const across = rangeOf([places.map(([one]) => one)]), up = rangeOf([places.map(([, one]) => one)]);
    const unit = Math.min((width - 2 * EDGE) / (across[1] - across[0]), (MOST - 2 * EDGE) / (up[1] - up[0]));
    const height = Math.max(220, (up[1] - up[0]) * unit + 2 * EDGE);
    const x = (value) => width / 2 + (value - (across[0] + across[1]) / 2) * unit;
    const y = (value) => height / 2 - (value - (up[0] + up[1]) / 2) * unit;
    const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
    const line = (own, name) => makeSvg("path", { class: name, d: pathOf(own.map(([a, b]) => [x(a), y(b)])) });
    svg.append(...axes({ x, y, width, height, unit }, across, up));
    for (const { places: own, share } of ways) {
      const one = line([history.at(-1), ...own], "way");
      one.style.opacity = 0.12 + 0.75 * share;
      svg.append(one);
    }
    if (truth.length) svg.append(line([history.at(-1), ...truth], "truth"));
    svg.append(line(history, "history"), line([history.at(-1), ...point], "point"));
    this.dots = [...history, ...point].map(([a, b], step) => {
      const dot = makeSvg("circle", { class: step < history.length ? "was" : "comes", cx: x(a), cy: y(b), r: 4 });
      dot.dataset.step = step;
      return dot;
    });
    svg.append(...this.dots);
    this.places = [...history, ...point].map(([a, b]) => [x(a), y(b)]);
    this.width = width;
    this.host.replaceChildren(svg);
  }

  light({ lit, pointed, pinned }) {
    const colours = weightColours(), most = lit ? largestSize(lit.weights) : 0;
    for (const dot of this.dots) {
      dot.setAttribute("r", 4);
      dot.style.fill = "";
      delete dot.dataset.weight;
    }
    if (lit) {
      slotsOf(lit.side).forEach((slot, place) => {
        for (let step = Math.max(0, Math.ceil(slot[0])); step < slot[1]; step++) {
          const dot = this.dots[step], share = most ? Math.abs(lit.weights[place]) / most : 0;
          dot.setAttribute("r", 4 + 10 * Math.sqrt(share));
          dot.style.fill = css(colours(share));
          dot.dataset.weight = lit.weights[place];
        }
      });
    }
    const isIn = (span, step) => Boolean(span) && span[0] <= step && step < span[1];
    this.dots.forEach((dot, step) => {
      dot.classList.toggle("pointed", isIn(pointed, step));
      dot.classList.toggle("pinned", isIn(pinned, step));
    });
  }

  #stepAt(event) {
    const box = this.host.getBoundingClientRect(), scale = this.width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    const far = this.places.map(([a, b]) => Math.hypot(a - x, b - y)), nearest = Math.min(...far);
    return nearest > REACH ? null : far.indexOf(nearest);
  }
}

function axes({ x, y, width, height, unit }, across, up) {
  const shown = (values, of, most) => values.filter((value) => of(value) > EDGE && of(value) < most - EDGE / 2);
  const left = (value) => (value - width / 2) / unit + (across[0] + across[1]) / 2;
  const ticks = ticksOf([left(0), left(width)], 8), found = [];
  const label = (at, words, anchor) => {
    const element = makeSvg("text", { ...at, "text-anchor": anchor });
    element.textContent = words;
    return element;
  };
  const middle = (up[0] + up[1]) / 2, half = height / unit / 2, risen = ticksOf([middle - half, middle + half], 6);
  for (const tick of shown(ticks.ticks, x, width)) {
    found.push(makeSvg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 6, y2: height - 20 }));
    found.push(label({ x: x(tick), y: height - 6 }, tickTold(tick, ticks.step), "middle"));
  }
  for (const tick of shown(risen.ticks, y, height)) {
    found.push(makeSvg("line", { class: "grid", x1: 30, x2: width - 4, y1: y(tick), y2: y(tick) }));
    found.push(label({ x: 26, y: y(tick) + 3.5 }, tickTold(tick, risen.step), "end"));
  }
  return found;
}
