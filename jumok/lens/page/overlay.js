// Colours that lie over an image: a veil that is lifted where a model looks, or heat that is laid there.
import { weightColours } from "./colour.js";

const VEIL = [46, 51, 64], THICKEST = 0.86, STRONGEST = 0.82; // the veil is neither black nor white: images have both

// A function from a share of the strongest weight to [red, green, blue, opacity from 0 to 1].
export function overlayColours(overlay) {
  const colours = shareColours();
  if (overlay === "heat") return (share) => [...colours(share), STRONGEST * share];
  return (share) => [...VEIL, THICKEST * (1 - share)];
}

// Shares of the strongest weight have the whole range already, so they need no square root.
export function shareColours() {
  const colours = weightColours();
  return (share) => colours(share * share);
}

export function rgba([red, green, blue, opacity]) {
  return `rgba(${red},${green},${blue},${opacity.toFixed(3)})`;
}
