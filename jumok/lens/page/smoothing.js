// Weights of an image's cells made smooth by cubic B-splines, as lens/caption_strip.py does it for files.

const EACH = 8; // points per cell and direction; the browser draws straight lines between them

// shares of the strongest point, { rows, columns, values }, finer than the grid of the weights.
export function smoothed(weights, { rows, columns }) {
  const down = splines(rows), across = splines(columns);
  const half = new Float64Array(rows * across.length), values = new Float64Array(down.length * across.length);
  for (let row = 0; row < rows; row++) {
    across.forEach((parts, x) => {
      for (const [cell, part] of parts) half[row * across.length + x] += part * weights[row * columns + cell];
    });
  }
  let most = 0;
  down.forEach((parts, y) => {
    for (let x = 0; x < across.length; x++) {
      const place = y * across.length + x;
      for (const [cell, part] of parts) values[place] += part * half[cell * across.length + x];
      most = Math.max(most, values[place]);
    }
  });
  if (most > 0) for (let place = 0; place < values.length; place++) values[place] /= most;
  return { rows: down.length, columns: across.length, values };
}

// For each point [cell, part] of the four cells around it; beyond the edge the outermost goes on.
function splines(cells) {
  return Array.from({ length: cells * EACH }, (_, point) => {
    const place = (point + 0.5) / EACH - 0.5, first = Math.floor(place), t = place - first;
    const parts = [(1 - t) ** 3, 3 * t ** 3 - 6 * t ** 2 + 4, -3 * t ** 3 + 3 * t ** 2 + 3 * t + 1, t ** 3];
    return parts.map((part, number) => [Math.max(0, Math.min(cells - 1, first + number - 1)), part / 6]);
  });
}
