// Light or dark, by the system or by the button; whoever draws is told when colours or the width have changed.
import { theme } from "./colour.js";
import { find } from "./elements.js";

export function followAppearance(redraw) {
  find("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth, waiting;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 100);
  });
}
