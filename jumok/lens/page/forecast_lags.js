// How far back it looks: the mean weight by lag, with marks at whole days, weeks or seasons.
import { make, makeSvg } from "./elements.js";
import { pathOf } from "./forecast_axes.js";
import { hasLags, isOcclusion, lagTold, meanByLag, numberIn } from "./forecast_time.js";
import { percent } from "./formats.js";
import { Panel } from "./panel.js";
import { say } from "./texts.js";

const HEIGHT = 240, TOP = 24, BOTTOM = 24, LEFT = 8, RIGHT = 8, CLOSEST = 14; // pixels

export class LagsPanel extends Panel {
  constructor(host, state) {
    super(host, state, "lags");
    this.readout = make("p", { class: "readout" });
    this.figure = make("div", { class: "series-chart" });
    this.remark = make("p", { class: "remark" });
    this.figure.addEventListener("pointermove", (event) => this.#point(event));
    this.figure.addEventListener("pointerleave", () => this.#tell(null));
  }

  show() {
    const { selection, run } = this.state;
    if (!hasLags(selection)) {
      this.showNote(say("Variables look at each other as a whole: there is no lag between them."));
      return;
    }
    this.host.replaceChildren(this.remark, this.readout, this.figure);
    this.remark.textContent = isOcclusion(selection)
      ? say("Mean size of the change by lag: how much the forecast depends on what was so many steps before.")
      : say("Mean weight by lag: how much is looked at so many steps away.");
    const means = meanByLag(selection), last = means.at(-1)[0], width = Math.max(280, this.figure.clientWidth || 640);
    const most = Math.max(...means.map(([, mean]) => mean), 1e-30);
    const x = (lag) => LEFT + (lag / Math.max(last, 1)) * (width - LEFT - RIGHT);
    const y = (mean) => HEIGHT - BOTTOM - (mean / most) * (HEIGHT - TOP - BOTTOM);
    Object.assign(this, { means, x, last, width });
    const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img" });
    svg.setAttribute("aria-label", say("mean weight by lag"));
    svg.append(...marksOf(run.marks, last, x));
    const line = means.map(([lag, mean]) => [x(lag), y(mean)]), first = x(means[0][0]), end = x(last);
    svg.append(makeSvg("path", { class: "area", d: `${pathOf(line)}L${end} ${y(0)}L${first} ${y(0)}Z` }));
    svg.append(makeSvg("path", { class: "means", d: pathOf(line) }));
    if (!isOcclusion(selection)) {
      const even = y(1 / selection.matrix.columns);
      svg.append(makeSvg("line", { class: "even", x1: LEFT, x2: width - RIGHT, y1: even, y2: even }));
    }
    this.cursor = makeSvg("line", { class: "now", y1: TOP, y2: HEIGHT - BOTTOM });
    svg.append(this.cursor);
    this.figure.replaceChildren(svg);
    this.#tell(null);
  }

  #point(event) {
    const box = this.figure.getBoundingClientRect(), place = ((event.clientX - box.left) / box.width) * this.width;
    const lag = ((place - LEFT) / (this.width - LEFT - RIGHT)) * this.last;
    this.#tell(this.means.reduce((best, one) => (Math.abs(one[0] - lag) < Math.abs(best[0] - lag) ? one : best)));
  }

  #tell(found) {
    this.cursor.style.display = found ? "" : "none";
    const { selection, run } = this.state, isChange = isOcclusion(selection);
    if (!found) {
      const [lag, mean] = this.means.reduce((best, one) => (one[1] > best[1] ? one : best));
      const values = { lag: lagTold(lag, run.marks), mean: isChange ? numberIn(mean, mean) : percent(mean, 2) };
      const even = isChange ? "" : say("The dashed line is a look at everything alike.");
      this.readout.textContent = `${say("Most at {lag}: {mean}.", values)} ${even}`;
      return;
    }
    for (const name of ["x1", "x2"]) this.cursor.setAttribute(name, this.x(found[0]));
    const mean = isChange ? numberIn(found[1], found[1]) : percent(found[1], 2);
    this.readout.textContent = `${lagTold(found[0], run.marks)}: ${mean}`;
  }
}

// Lines at whole seasons; those of days are left out where they would stand too close.
function marksOf(marks, last, x) {
  const names = {
    day: (count) => say("day {count}", { count }), week: (count) => say("week {count}", { count }),
    season: (count) => say("season {count}", { count }),
  };
  return Object.entries(marks).flatMap(([name, steps]) => {
    if (x(steps) - x(0) < CLOSEST || steps > last) return [];
    const every = Math.max(1, Math.ceil(64 / (x(steps) - x(0)))), found = [];
    for (let count = 1; count * steps <= last; count++) {
      const at = x(count * steps);
      found.push(makeSvg("line", { class: `season ${name}`, x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }));
      if (count % every) continue;
      const text = makeSvg("text", { x: at, y: name === "week" ? 12 : HEIGHT - 8, "text-anchor": "middle" });
      text.textContent = names[name](count);
      found.push(text);
    }
    return found;
  });
}
