// The player of a film: its button, its slider and the arrow keys go through the frames.
import { find } from "./elements.js";
import { makePlayer } from "./player.js";

const WHOLE = 12000, SHORTEST = 120, LONGEST = 700; // milliseconds: the whole film, and one frame of it

// last is the last frame, at() the one shown; go(number) shows one.
export function makeFilmPlayer({ last, at, go }) {
  const pace = () => Math.max(SHORTEST, Math.min(LONGEST, WHOLE / (last + 1))), slider = find("frame");
  const player = makePlayer({ button: find("play"), last: () => last, at, go, pace });
  slider.max = last;
  slider.addEventListener("input", () => go(Number(slider.value)));
  for (const event of ["pointerdown", "keydown"]) slider.addEventListener(event, player.stop);
  // Arrow keys go through the film from wherever nothing else has use for them.
  document.addEventListener("keydown", (event) => {
    const goal = { ArrowLeft: at() - 1, ArrowRight: at() + 1, Home: 0, End: last }[event.key];
    if (event.target !== document.body || goal === undefined) return;
    player.stop();
    go(goal);
    event.preventDefault();
  });
  return player;
}

// The frame nearest to a step.
export function nearest(steps, step) {
  return steps.reduce((best, own, place) => (Math.abs(own - step) < Math.abs(steps[best] - step) ? place : best), 0);
}
