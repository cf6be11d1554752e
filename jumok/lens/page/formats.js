// Numbers as text, written the same way on every page.
import { say } from "./texts.js";

export function percent(share, digits = 1) {
  return Number.isNaN(share) ? say("not a number") : `${(100 * share).toFixed(digits)} %`;
}

// A share in percent where there is room for two digits.
export function hundredths(share) {
  return Number.isNaN(share) ? "–" : String(Math.round(100 * share));
}

export function decimal(value, digits = 3) {
  if (Number.isNaN(value)) return say("not a number");
  return Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : `${value < 0 ? "−" : ""}∞`;
}
