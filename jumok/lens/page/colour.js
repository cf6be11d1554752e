// Colours of weights, of heads and of signed numbers, in light and in dark.

const HEADS = ["#4269d0", "#d9622b", "#3a9d5d", "#b0468f", "#97762c", "#2b98a8", "#c43c4c", "#7a62c9"];
// From weight 0 to weight 1: paper, amber, rust on light pages; ink, rust, lamplight on dark ones.
const RAMPS = {
  light: [[251, 250, 247], [249, 224, 170], [236, 155, 60], [168, 62, 14]],
  dark: [[24, 25, 28], [82, 47, 24], [178, 98, 32], [255, 206, 120]],
};
const SIGNED = {
  light: [[46, 96, 172], [250, 249, 246], [186, 62, 40]],
  dark: [[102, 160, 236], [32, 33, 37], [236, 122, 92]],
};

export function theme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

// The value of a variable of base.css: a colour, the font.
export function styleOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// The square root keeps small weights visible: 0.01 is a tenth as strong as 1.
export function shadeOf(weight) {
  return Math.sqrt(Math.min(Math.max(weight, 0), 1));
}

// A function from weight to colour. Half a million cells call it, so the colours are made once.
export function weightColours(mode = theme()) {
  const table = Array.from({ length: 256 }, (_, level) => between(RAMPS[mode], level / 255));
  return (weight) => table[Math.round(255 * shadeOf(weight))];
}

// The same for numbers of both signs, up to the largest.
export function signedColours(largest, mode = theme()) {
  const table = Array.from({ length: 257 }, (_, level) => between(SIGNED[mode], level / 256));
  return (value) => table[Math.round(128 + 128 * Math.max(-1, Math.min(1, value / (largest || 1))))];
}

export function headColour(head) {
  return head < 0 ? styleOf("accent") : HEADS[head % HEADS.length];
}

// Black or white, whichever is read better on a weight's colour.
export function inkOn(weight, mode = theme()) {
  const strong = shadeOf(weight);
  return mode === "light" ? (strong > 0.78 ? "#fff" : "#22201c") : strong > 0.72 ? "#1a1208" : "#f3efe6";
}

export function css([red, green, blue]) {
  return `rgb(${red},${green},${blue})`;
}

function between(stops, share) {
  const place = share * (stops.length - 1);
  const first = Math.min(Math.floor(place), stops.length - 2), next = stops[first + 1];
  return stops[first].map((value, channel) => Math.round(value + (next[channel] - value) * (place - first)));
}
