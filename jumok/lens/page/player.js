// A button that plays through numbered steps, pauses, and for whoever wants less motion goes on by one step.
import { say } from "./texts.js";

// last() is the last step and first the one to begin with, at() the one shown; go(number) shows one, pace() is in
// milliseconds.
export function makePlayer({ button, last, at, go, pace, first = 0 }) {
  const lessMotion = matchMedia("(prefers-reduced-motion: reduce)");
  let timer = null;
  const name = () => {
    button.textContent = timer ? say("pause") : lessMotion.matches ? say("next") : say("play");
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    name();
  };
  button.addEventListener("click", () => {
    if (timer) return stop();
    go(at() === last() ? first : at() + 1);
    if (lessMotion.matches) return;
    timer = setInterval(() => (at() === last() ? stop() : go(at() + 1)), pace());
    name();
  });
  lessMotion.addEventListener("change", stop);
  name();
  return { name, stop };
}
