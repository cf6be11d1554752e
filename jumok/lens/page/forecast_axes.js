// Scales of a chart: the range of some values, round numbers inside it, lines that break where a value is missing.

// The least and the greatest of some arrays, with a little room around.
export function rangeOf(arrays) {
  let least = Infinity, most = -Infinity;
  for (const values of arrays) {
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
  }
  if (least > most) return [0, 1];
  const room = most > least ? 0.06 * (most - least) : Math.abs(most) * 0.05 || 1;
  return [least - room, most + room];
}

// Round numbers, 1, 2 or 5 times a power of ten apart, about so many.
export function ticksOf([least, most], count) {
  const rough = (most - least) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough), ticks = [];
  for (let tick = Math.ceil(least / step) * step; tick <= most; tick += step) ticks.push(tick);
  return { ticks, step };
}

export function tickTold(value, step) {
  return fixed(value, -Math.floor(Math.log10(step) + 1e-9));
}

// A number with so many digits behind the point, none to six.
export function fixed(value, digits) {
  const count = Math.max(0, Math.min(6, digits));
  const limits = { minimumFractionDigits: count, maximumFractionDigits: count };
  return value.toLocaleString("en", limits).replace("-", "−");
}

// The path of points [x, y] of an SVG, begun anew where one is missing.
export function pathOf(points) {
  let isDown = false;
  return points.map(([x, y]) => {
    if (!Number.isFinite(x) || !Number.isFinite(y)) {
      isDown = false;
      return "";
    }
    const told = `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    isDown = true;
    return told;
  }).join("");
}

// So many places of 0 to count − 1 at even distances, the first and the last among them.
export function spread(count, most) {
  const wanted = Math.max(2, Math.min(most, count));
  return [...new Set(Array.from({ length: wanted }, (_, n) => Math.round((n * (count - 1)) / (wanted - 1))))];
}
