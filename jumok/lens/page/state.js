// What the viewer has set and points at. Views listen: "change" draws them again, "point" only lights them up.
import { defaultKind, fitSettings, isNarrow, narrowed, selectionOf } from "./selection.js";
import { say } from "./texts.js";

// runsName() is what the runs are called; canRollOut says whether rollout can be chosen: it needs the encoder's maps.
export function makeState(runs, { words = false, tab, runsName = () => say("run"), canRollOut = true }) {
  const listeners = { change: [], point: [] };
  const kind = defaultKind(runs[0]);
  const given = { run: 0, kind, layer: 0, heads: [], combine: "mean", words, side: "query", hideEnd: false };
  let settings = { ...given, tab, written: null };
  let selection = selectionOf(runs[0], narrowed(settings));
  let pointed = null, pinned = null, pinnedKey = null;
  // Where a sequence looks at itself, it is shown once, and the viewer chooses which side its words are.
  const sideOf = (side) => (selection.isOneSide ? settings.side : side);
  const tell = (event) => listeners[event].forEach((listener) => listener());

  return {
    runs,
    runsName,
    canRollOut,
    get settings() { return settings; },
    get selection() { return selection; },
    get run() { return runs[settings.run]; },
    get pinned() { return pinned; },
    // { side: "query" or "key", place }, or null: what is pointed at, else what is pinned.
    get pointed() {
      if (pointed || pinnedKey !== null) return pointed ?? { side: "key", place: pinnedKey };
      return pinned === null ? null : { side: sideOf("query"), place: pinned };
    },
    get pinnedKey() { return pinnedKey; },
    sideOf,
    on(event, listener) { listeners[event].push(listener); },
    set(changes) {
      const before = settings;
      const run = runs[changes.run ?? settings.run];
      settings = fitSettings(run, { ...settings, ...changes });
      const isSame = Object.keys(changes).every((name) => name === "tab") && isNarrow(before) === isNarrow(settings);
      if (!isSame) selection = selectionOf(run, narrowed(settings));
      const hasOthers = ["kind", "words", "run"].some((name) => before[name] !== settings[name]); // other words
      if (hasOthers || pinned >= selection.queries.length) pinned = null;
      if (hasOthers || pinnedKey >= selection.keys.length) pinnedKey = null;
      if (hasOthers) settings.written = null;
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
      pinnedKey = null;
      tell("point");
    },
    // What is looked at can be pinned where it stands apart, as the places of an image do.
    pinKey(place) {
      pinnedKey = place === pinnedKey ? null : place;
      pinned = null;
      tell("point");
    },
    // Words written so far: the rest is faded, and the newest is pinned.
    write(count) {
      settings.written = count >= selection.queries.length ? null : count;
      pinned = count > 0 ? Math.min(count, selection.queries.length) - 1 : null;
      pinnedKey = null;
      pointed = null;
      tell("point");
    },
  };
}
