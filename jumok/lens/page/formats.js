// Numbers as text, written the same way on every page.

export function percent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)} %`;
}

export function decimal(value, digits = 3) {
  return Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : "−∞";
}
