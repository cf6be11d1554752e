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
  const shown = Math.abs(value) < 0.5 / 10 ** count ? 0 : value; // never −0
  return shown.toLocaleString("en", limits).replace("-", "−");
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

// Places of an axis of dates and their labels, as many as fit into a width: days of hours at midnight, months of days
// on their first, else at even distances.
export function dateTicks(labels, width) {
  const places = [...labels.keys()], midnights = places.filter((place) => labels[place].endsWith(" 00:00"));
  const firsts = places.filter((place) => /^\d{4}-\d\d-01$/.test(labels[place]));
  const [chosen, length] = midnights.length > 2 ? [midnights, 10] : [firsts.length > 2 ? firsts : places, 99];
  const most = Math.max(1, Math.floor(width / (7 * Math.min(labels[0].length, length) + 26)));
  const every = Math.ceil(chosen.length / most);
  return chosen.filter((_, number) => number % every === 0).map((place) => [place, labels[place].slice(0, length)]);
}
