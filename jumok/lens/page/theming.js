// Light or dark, by the system or by the button; whoever draws is told when colours or the width have changed.
import { theme } from "./colour.js";

export function followLooks(again) {
  document.getElementById("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    again();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  let width = innerWidth, waiting;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(again, 100);
  });
}
