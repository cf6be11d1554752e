// What is pointed at, told beside the chart: its date and value, and what it looks at most.
import { make } from "./elements.js";
import { isOcclusion, labelOf, lagTold, largestSize, litBy, middleOf, numberIn } from "./forecast_time.js";
import { percent } from "./formats.js";
import { say } from "./texts.js";

const STRONGEST = 7;

// step: the step pointed at, or null; token: what of the selection that is, or null. look(kind) chooses a kind.
export function showPointedStep(host, { selection, run, target, step, token, look }) {
  const lit = litBy(selection, token), isChange = isOcclusion(selection);
  const children = step === null && !token ? [make("p", { class: "hint", text: hintOf(run, selection) })] : [];
  if (token && step === null) {
    const side = token.side === "query" ? selection.querySide : selection.keySide;
    children.push(make("h2", { class: "pointed-name", text: labelOf(side, token.place) }));
  }
  if (step !== null) children.push(...valuesOf(run, target, step));
  if (lit && token) {
    children.push(make("h3", { text: headingOf(token, isChange) }), strongestOf(selection, run, token, lit));
  }
  const isFlat = ["patches", "variables"].includes(run.tokens) && !isChange;
  if (isFlat && (step === null || step >= run.dates.length)) {
    children.push(make("p", { class: "hint", text: flatOf(run.tokens) }));
    if (run.kinds.includes("occlusion")) {
      const text = say("show what each step depends on");
      children.push(make("button", { class: "plain-button", text, type: "button", onclick: () => look("occlusion") }));
    }
  }
  host.replaceChildren(...children);
  host.classList.toggle("told", step !== null || Boolean(token));
}

// What a screen reader says.
export function spokenOfStep({ selection, run, target, step, token }) {
  if (step === null && !token) return "";
  const told = step === null ? [] : valuesOf(run, target, step).map((one) => one.textContent);
  const lit = token && litBy(selection, token);
  if (lit) {
    const isChange = isOcclusion(selection), three = orderOf(lit.weights).slice(0, 3);
    const range = largestSize(lit.weights), number = (value) => (isChange ? numberIn(value, range) : percent(value));
    const found = three.map((place) => `${labelOf(lit.side, place)} ${number(lit.weights[place])}`).join("; ");
    told.push(`${headingOf(token, isChange)}: ${found}`);
  }
  return told.join(". ");
}

// The date of a step, its value or what is forecast of it, and what came.
function valuesOf(run, target, step) {
  const seen = run.dates.length, isAhead = step >= seen, place = isAhead ? step - seen : step;
  const name = make("h2", { class: "pointed-name", text: isAhead ? run.ahead[place] : run.dates[place] });
  const said = (label, text) => make("p", { class: "value" }, make("span", { text: label }), " ", make("b", { text }));
  const targets = run.paths ? [0, 1] : [target];
  const together = (of) => targets.map((one) => numberIn(of(one), run.rangeOf(one))).join(", ");
  if (!isAhead) return [name, said(say("value"), together((one) => run.valuesOf(one).history[place]))];
  const rows = [name, make("p", { class: "hint", text: say("step {number} of {all} ahead", {
    number: place + 1, all: run.ahead.length,
  }) })];
  if (place >= run.trained) rows.push(make("p", { class: "hint", text: say("forecast from forecasts") }));
  rows.push(said(say("forecast"), together((one) => run.valuesOf(one).point[place])));
  for (const { low, high, levels } of run.paths ? [] : run.bandsOf(target)) {
    const share = levels.map((level) => Math.round(100 * level)), range = run.rangeOf(target);
    const label = say("{low} to {high} %", { low: share[0], high: share[1] });
    rows.push(said(label, `${numberIn(low[place], range)} – ${numberIn(high[place], range)}`));
  }
  if (run.truth) rows.push(said(say("what came"), together((one) => run.valuesOf(one).truth[place])));
  return rows;
}

function headingOf({ side }, isChange) {
  if (isChange) return side === "query" ? say("changes most without") : say("without it, these change most");
  return side === "query" ? say("looks most at") : say("is looked at most by");
}

function orderOf(weights) {
  return [...weights.keys()].sort((one, other) => Math.abs(weights[other]) - Math.abs(weights[one]));
}

function strongestOf(selection, run, token, { side, weights }) {
  const isChange = isOcclusion(selection), most = largestSize(weights);
  const own = (token.side === "query" ? selection.querySide : selection.keySide).spans[token.place];
  return make("ul", { class: "bars weights" }, ...orderOf(weights).slice(0, STRONGEST).map((place) => {
    const span = side.spans[place], label = labelOf(side, place), share = Math.abs(weights[place]) / (most || 1);
    const lag = own && span ? lagTold(Math.round(Math.abs(middleOf(own) - middleOf(span))), run.marks) : "";
    const name = make("span", { class: "label", title: label }, label);
    if (lag) name.append(make("small", { text: lag }));
    const number = isChange ? numberIn(weights[place], most) : percent(weights[place]);
    return make("li", {}, name, make("span", { class: "bar", style: `--share: ${share}` }),
      make("span", { class: "number", text: number }));
  }));
}

function hintOf(run, selection) {
  if (!selection.matrix) return say("Point at a step for its values.");
  if (isOcclusion(selection)) {
    const first = say("Point at a step of the forecast: how it changes when a stretch of the past is missing.");
    return `${first} ${say("Point at a stretch: the dashed line is the forecast without it.")}`;
  }
  if (run.tokens === "variables") return say("Point at a name in the map: who looks at whom.");
  if (run.tokens === "patches") return say("Point at the past: the patches that a patch looks at light up.");
  const kind = selection.settings.kind;
  if (kind === "encoder") return say("Point at a step of the past: the steps it looks at light up.");
  if (kind === "decoder") return say("Point at a step of the forecast: the steps before it that it looks at.");
  return say("Point at a step of the forecast: the past lights up by the weight with which it was looked at.");
}

function flatOf(tokens) {
  const who = tokens === "variables"
    ? say("Variables look at variables, and the head reads the whole of one for every step of the forecast.")
    : say("Patches look at patches, and the head reads all of them for every step of the forecast.");
  return `${who} ${say("So attention does not tell which step looked where.")}`;
}
