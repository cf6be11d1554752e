// History and forecast of one target against time; below it a strip that lights up by weight.
import { css, shadeOf, signedColours, weightColours } from "./colour.js";
import { make, makeSvg } from "./elements.js";
import { dateTicks, pathOf, rangeOf, tickTold, ticksOf } from "./forecast_axes.js";
import { largestSize, slotsOf } from "./forecast_time.js";
import { say } from "./texts.js";

const HEIGHT = 330, TOP = 12, RIGHT = 10, STRIP = 16, GAP = 10, BELOW = 22; // pixels

export class SeriesChart {
  // point(step or null) is told what the pointer is over; the steps of the forecast follow those of the past.
  constructor(host, { point }) {
    this.host = make("div", { class: "series-chart" });
    host.append(this.host);
    this.host.addEventListener("pointermove", (event) => point(this.#stepAt(event)));
    this.host.addEventListener("pointerleave", () => point(null));
  }

  show(run, target) {
    const width = Math.max(280, this.host.clientWidth || 640), seen = run.dates.length, all = seen + run.ahead.length;
    const { history, point, truth } = run.valuesOf(target), bands = run.bandsOf(target);
    const ways = run.waysOf(target);
    const range = rangeOf([history, point, truth ?? [], ...bands.flatMap(({ low, high }) => [low, high])]);
    const { ticks, step } = ticksOf(range, 5);
    const left = 14 + 7 * Math.max(...ticks.map((tick) => tickTold(tick, step).length));
    const bottom = HEIGHT - BELOW - STRIP - GAP;
    const x = (place) => left + ((place + 0.5) / all) * (width - left - RIGHT);
    const y = (value) => bottom - ((value - range[0]) / (range[1] - range[0])) * (bottom - TOP);
    Object.assign(this, { run, x, y, seen, all, left, width, bottom, point, range });
    const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" });
    const line = (values, from, name) => makeSvg("path", {
      class: name, d: pathOf([...values].map((value, place) => [x(from + place), y(value)])),
    });
    this.lit = makeSvg("g", { class: "lit" });
    this.marks = makeSvg("g", { class: "marks" });
    svg.append(...this.#axes(ticks, step), this.lit);
    for (const { low, high } of bands) svg.append(this.#band(low, high));
    for (const { values, share } of ways) {
      const one = line(values, seen, "way");
      one.style.opacity = 0.15 + 0.6 * share;
      svg.append(one);
    }
    const joined = (values) => [history.at(-1), ...values];
    svg.append(line(history, 0, "history"));
    if (truth) svg.append(line(joined(truth), seen - 1, "truth"));
    svg.append(line(joined(point), seen - 1, "point"), this.marks);
    this.host.replaceChildren(svg);
  }

  // lit: { side, weights, isSigned, isPointed }; pointed and pinned are spans; without is the forecast
  // without the stretch pointed at.
  light({ lit, pointed, pinned, without }) {
    this.lit.replaceChildren();
    this.marks.replaceChildren();
    this.host.classList.toggle("unlit", !lit);
    if (lit) this.#lightUp(lit);
    const { x, bottom } = this, half = x(1) - x(0);
    const mark = ([from, to], name) => this.marks.append(makeSvg("rect", {
      class: name, x: x(from) - half / 2, width: Math.max((to - from) * half, 1.5), y: TOP, height: bottom - TOP,
    }));
    if (pinned) mark(pinned, "pinned");
    if (pointed) mark(pointed, "pointed");
    if (without) {
      const points = [...without].map((value, place) => [x(this.seen + place), this.y(value)]);
      this.marks.append(makeSvg("path", { class: "without", d: pathOf(points) }));
    }
  }

  #lightUp({ side, weights, isSigned, isPointed }) {
    const most = largestSize(weights), colours = isSigned ? signedColours(most) : weightColours();
    const { x, bottom } = this, half = (x(1) - x(0)) / 2, top = bottom + GAP;
    slotsOf(side).forEach((slot, place) => {
      if (!slot) return;
      const share = most ? Math.abs(weights[place]) / most : 0, from = Math.max(slot[0], 0);
      const box = { x: x(from) - half, width: Math.max(2 * half * (slot[1] - from), 0.6) };
      const colour = css(colours(isSigned ? weights[place] : share));
      const veil = makeSvg("rect", { class: "veil", ...box, y: TOP, height: bottom - TOP });
      veil.style.opacity = isPointed ? 0.42 * shadeOf(share) ** 2 : 0; // a mean over all is told by the strip alone
      const cell = makeSvg("rect", { class: "cell", ...box, y: top, height: STRIP, fill: colour });
      cell.dataset.place = place;
      cell.dataset.weight = weights[place];
      this.lit.append(veil, cell);
    });
  }

  #axes(ticks, step) {
    const { x, y, seen, left, width, bottom, run } = this, text = (at, words, anchor) => {
      const element = makeSvg("text", { ...at, "text-anchor": anchor });
      element.textContent = words;
      return element;
    };
    const lines = ticks.flatMap((tick) => [
      makeSvg("line", { class: "grid", x1: left, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
      text({ x: left - 6, y: y(tick) + 3.5 }, tickTold(tick, step), "end"),
    ]);
    const dates = dateTicks([...run.dates, ...run.ahead], width - left).map(([place, label]) => {
      const room = 3.6 * label.length, at = Math.max(left + room, Math.min(width - room, x(place)));
      return text({ x: at, y: HEIGHT - 6 }, label, "middle");
    });
    const now = (x(seen - 1) + x(seen)) / 2;
    return [
      ...lines, ...dates, makeSvg("line", { class: "now", x1: now, x2: now, y1: TOP, y2: bottom }),
      makeSvg("rect", { class: "strip-room", x: left, width: width - RIGHT - left, y: bottom + GAP, height: STRIP }),
    ];
  }

  #band(low, high) {
    const { x, y, seen } = this, up = [...high].map((value, place) => [x(seen + place), y(value)]);
    const down = [...low].map((value, place) => [x(seen + place), y(value)]).reverse();
    return makeSvg("path", { class: "quantiles", d: `${pathOf([...up, ...down])}Z` });
  }

  #stepAt(event) {
    const box = this.host.getBoundingClientRect(), { left, width, all } = this;
    const share = ((event.clientX - box.left) * (width / box.width) - left) / (width - left - RIGHT);
    return share < 0 || share >= 1 ? null : Math.floor(share * all);
  }
}

// What the lines of a chart are called, for the legend below it.
export function legendOf(run) {
  const { low, high } = run.widestBand ?? {}, share = (level) => Math.round(100 * level);
  return [
    ["history", say("history")], ["point", say("forecast")],
    ...(run.truth ? [["truth", say("what came")]] : []),
    ...(run.widestBand ? [["quantiles", say("{low} to {high} %", { low: share(low), high: share(high) })]] : []),
    ...(run.ways ? [["way", say("ways it may go")]] : []),
  ];
}
