// The page of a forecast put together: reads the record, keeps chart, values and views in step with the viewer.
import { followAppearance } from "./appearance.js";
import { radios, showControls, sideControl } from "./controls.js";
import { find, make } from "./elements.js";
import { legendOf, SeriesChart } from "./forecast_chart.js";
import { ForecastHeads } from "./forecast_heads.js";
import { LagsPanel } from "./forecast_lags.js";
import { ForecastMap } from "./forecast_map.js";
import { PathChart } from "./forecast_path.js";
import { showPointedStep, spokenOfStep } from "./forecast_pointed.js";
import { forecastOf } from "./forecast_record.js";
import { isOcclusion, largestSize, litBy, middleOf, numberIn, OCCLUSION, tokenAt } from "./forecast_time.js";
import { percent } from "./formats.js";
import { kindTitle } from "./kinds.js";
import { readRuns } from "./record.js";
import { titleOf } from "./selection.js";
import { makeState } from "./state.js";
import { makeTabs, showTab } from "./tabs.js";
import { followLanguage, say, translated } from "./texts.js";
import { startPage } from "./unpacking.js";

const FEW = 8; // choices that stand side by side; more are a list

function start(data, arrays) {
  const read = readRuns(data, arrays).map((run) => forecastOf(run, arrays));
  const isOneRun = new Set(data.runs.map(({ name }) => name)).size === 1;
  const names = read.map((run) => (isOneRun ? run.series || run.name : run.name));
  let target = read[0].targets.length - 1; // tables have their main one last
  const runs = read.map((run) => run.of(target));
  const tabs = read.some((run) => run.maps.length) ? ["lags", "map", "heads"] : [];
  const opens = read[0].tokens === "variables" ? "map" : tabs[0];
  const state = makeState(runs, { tab: opens, canRollOut: false });
  // What is pointed at: a step of time, and the token of what is chosen that it is, or a token without a time.
  const nothing = { step: null, token: null };
  let pointed = nothing, pinned = nothing;
  const now = () => (pointed.step !== null || pointed.token ? pointed : pinned);

  const atStep = (step) => ({ step, token: tokenAt(state.selection, step) });
  const atToken = (side, place) => {
    if (place === null) return nothing;
    const { querySide, keySide } = state.selection, span = (side === "query" ? querySide : keySide).spans[place];
    return { step: span ? Math.max(0, Math.floor(middleOf(span))) : null, token: { side, place } };
  };
  const isSame = (one, other) => one.step === other.step && one.token?.place === other.token?.place;
  const point = (next) => {
    if (isSame(next, pointed) && next.token?.side === pointed.token?.side) return;
    pointed = next;
    light();
  };
  const pin = (next) => {
    pinned = isSame(next, pinned) ? nothing : next;
    light();
  };
  const over = { point: (step) => point(step === null ? nothing : atStep(step)) };
  const series = new SeriesChart(find("chart"), over), path = new PathChart(find("chart"), over);
  const chartOf = () => (state.run.paths ? path : series);
  const panels = makeTabs(state, tabs.map((name) => [name, {
    lags: (host) => new LagsPanel(host, state),
    map: (host) => new ForecastMap(host, state, {
      point: (side, place) => point(atToken(side, place)), pin: (side, place) => pin(atToken(side, place)),
      token: () => now().token,
    }),
    heads: (host) => new ForecastHeads(host, state),
  }[name]]));
  const choose = ({ chosen = state.settings.run, aim = target }) => {
    target = Math.min(aim, read[chosen].targets.length - 1);
    runs.splice(0, runs.length, ...read.map((run) => run.of(Math.min(target, run.targets.length - 1))));
    state.set({ run: chosen });
  };
  const slider = find("chart");
  listenToKeys(slider, {
    last: () => state.run.dates.length + state.run.ahead.length - 1,
    at: () => now().step ?? state.run.dates.length - 1, far: () => state.run.marks.day ?? state.run.marks.season ?? 10,
    go: (step) => point(atStep(step)), pin: () => pin(now()),
    drop: () => {
      pinned = pointed = nothing;
      light();
    },
  });

  const change = () => {
    const { run, selection, settings } = state;
    if (settings.kind === OCCLUSION && settings.combine !== "mean") return state.set({ combine: "mean" });
    pointed = nothing;
    pinned = pinned.step === null ? nothing : atStep(pinned.step);
    find("source").textContent = [run.name, run.series].filter(Boolean).join(" · ");
    find("answer").textContent = run.paths ? run.targets.join(", ") : run.targets[target];
    const values = { first: run.ahead[0], last: run.ahead.at(-1), steps: run.ahead.length, seen: run.dates.length };
    find("reference").textContent = say("{first} – {last}: {steps} steps ahead, {seen} steps back", values);
    const isChange = isOcclusion(selection);
    find("selection").textContent = isChange ? kindTitle(OCCLUSION) : selection.matrix ? titleOf(selection) : "";
    find("warning").textContent = isChange ? "" : run.warnings.map(translated).join(" ");
    find("warning").hidden = isChange || !run.warnings.length;
    // Which run is chosen here, as there may be many, and so is the side, by other words.
    const others = { runs: { value: [run] }, selection: { value: { ...selection, isOneSide: false } } };
    showControls(find("controls"), Object.create(state, others));
    find("controls").prepend(...choicesOf(state, { read, names, isOneRun, target, choose }));
    if (selection.isOneSide) find("controls").append(sideControl(state, tokenName(run.tokens)));
    series.host.hidden = run.paths;
    path.host.hidden = !run.paths;
    chartOf().show(run, target);
    find("legend").replaceChildren(...legendOf(run).map(([name, text]) => (
      make("span", { class: `key ${name}`, text }))));
    slider.setAttribute("aria-valuemax", run.dates.length + run.ahead.length - 1);
    find("views").hidden = !selection.matrix;
    if (selection.matrix) showTab(panels, settings.tab, settings.tab !== "lags");
    light();
  };
  const light = () => {
    const { run, selection, settings } = state, { step, token } = now(), isChange = isOcclusion(selection);
    const found = litBy(selection, token), seen = run.dates.length;
    const isOnTime = found && found.side.spans.some(Boolean);
    const isStretch = isChange && token?.side === "key" && !run.paths, { point: forecast } = run.valuesOf(target);
    const spanOf = (one) => {
      const side = one.token && (one.token.side === "query" ? selection.querySide : selection.keySide);
      return side?.spans[one.token.place] ?? (one.step === null ? null : [one.step, one.step + 1]);
    };
    chartOf().light({
      lit: isOnTime ? { ...found, isPointed: Boolean(token), isSigned: isChange && token && !run.paths } : null,
      pointed: spanOf({ step, token }), pinned: spanOf(pinned),
      without: isStretch ? forecast.map((value, place) => value + found.weights[place]) : null,
    });
    const told = { selection, run, target, step, token };
    showPointedStep(find("pointed"), { ...told, look: (kind) => state.set({ kind }) });
    find("spoken").textContent = spokenOfStep(told);
    slider.setAttribute("aria-valuenow", step ?? seen - 1);
    slider.setAttribute("aria-valuetext", spokenOfStep(told) || say("nothing is pointed at"));
    find("scale").textContent = isOnTime ? scaleOf(found.weights, { isChange, token, run, target }) : "";
    if (selection.matrix) panels[settings.tab].light();
  };
  state.on("change", change);
  followAppearance(() => state.set({}));
  followLanguage(() => state.set({}));
  change();
}

function tokenName(tokens) {
  return { patches: say("a patch"), variables: say("a variable") }[tokens] ?? say("a step");
}

// What the strongest colour stands for.
function scaleOf(weights, { isChange, token, run, target }) {
  const most = largestSize(weights);
  if (isChange) {
    const values = { most: numberIn(most, run.paths ? most : run.rangeOf(target)) };
    const told = say("The strongest colour is a change of {most}.", values);
    return token && !run.paths ? `${told} ${say("Red: the forecast would be higher, blue: lower.")}` : told;
  }
  const values = { most: percent(most, 2) };
  return token ? say("The strongest colour has {most} of the weight.", values)
    : say("The mean over all that look; the strongest colour has {most} of the weight.", values);
}

// Which run or series, and which target.
function choicesOf({ run, settings }, { read, names, isOneRun, target, choose }) {
  const asked = (label, name, texts, value, chosen) => {
    const options = texts.map((text, place) => ({ value: place, text }));
    if (texts.length <= FEW) return radios(label, { name, options, value, choose: chosen });
    const list = make("select", { name, class: "list", "aria-label": label },
      ...options.map((one) => make("option", { value: one.value, text: one.text })));
    list.value = value;
    list.addEventListener("change", () => chosen({ [name]: Number(list.value) }));
    const caption = make("span", { class: "caption", text: label, "aria-hidden": "true" });
    return make("div", { class: "control" }, caption, list);
  };
  const found = [];
  if (read.length > 1) found.push(asked(isOneRun ? say("series") : say("run"), "chosen", names, settings.run, choose));
  if (run.targets.length > 1 && !run.paths) found.push(asked(say("variable"), "aim", run.targets, target, choose));
  return found;
}

// The chart is a slider over all steps: arrow keys walk, page keys jump by a season.
function listenToKeys(slider, { last, at, far, go, pin, drop }) {
  slider.addEventListener("click", pin);
  slider.addEventListener("blur", () => go(null));
  const handle = (event) => {
    const goal = {
      ArrowLeft: at() - 1, ArrowRight: at() + 1, ArrowDown: at() - 1, ArrowUp: at() + 1, Home: 0, End: last(),
      PageDown: at() - far(), PageUp: at() + far(),
    }[event.key];
    if (goal !== undefined) go(Math.max(0, Math.min(last(), goal)));
    else if (event.key === "Enter" || event.key === " ") pin();
    else if (event.key === "Escape") drop();
    else return;
    event.preventDefault();
  };
  slider.addEventListener("keydown", handle);
  document.addEventListener("keydown", (event) => {
    if (event.target !== document.body || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    slider.focus();
    handle(event);
  });
}

startPage(start);
