// What the viewer has chosen and points at. Parts of the page listen: "change" redraws, "point" only lights up.
import { defaultKind, fitted, seenOf } from "./seen.js";

export function makeState(runs, { words = false, runsAre = "run", rolls = true, tab = runs.length > 1 ? "compare" : "lines" }) {
  const listeners = { change: [], point: [] };
  let choice = {
    run: 0, kind: defaultKind(runs[0]), layer: 0, heads: [], how: "mean", words, hideEnd: false,
    tab, written: null,
  };
  let seen = seenOf(runs[0], choice);
  let pointed = null, pinned = null;
  const tell = (event) => listeners[event].forEach((listener) => listener());

  return {
    runs,
    runsAre, // what the runs are called
    rolls, // whether there is a rollout to choose: it needs the encoder's maps
    get choice() { return choice; },
    get seen() { return seen; },
    get run() { return runs[choice.run]; },
    get pinned() { return pinned; },
    // { side: "query" or "key", place }, or null: what is pointed at, else what is pinned.
    get pointed() { return pointed ?? (pinned === null ? null : { side: "query", place: pinned }); },
    on(event, listener) { listeners[event].push(listener); },
    set(changes) {
      const before = choice;
      const run = runs[changes.run ?? choice.run];
      choice = fitted(run, { ...choice, ...changes });
      if (Object.keys(changes).some((name) => name !== "tab")) seen = seenOf(run, choice);
      const others = before.kind !== choice.kind || before.words !== choice.words || before.run !== choice.run;
      if (others || pinned >= seen.queries.length) pinned = null;
      if (others) choice.written = null;
      pointed = null;
      tell("change");
      tell("point");
    },
    point(side, place) {
      const next = place === null ? null : { side, place };
      if (next?.side === pointed?.side && next?.place === pointed?.place) return;
      pointed = next;
      tell("point");
    },
    pin(place) {
      pinned = place === pinned ? null : place;
      tell("point");
    },
    // Words written so far: the rest is faded, and the newest is pinned.
    write(count) {
      choice.written = count >= seen.queries.length ? null : count;
      pinned = count > 0 ? Math.min(count, seen.queries.length) - 1 : null;
      pointed = null;
      tell("point");
    },
  };
}
