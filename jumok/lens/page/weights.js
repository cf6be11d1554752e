// Sums over attention weights. A grid is { rows, columns, values }, its values row by row: queries are rows, keys columns.

function emptyGrid(rows, columns) {
  return { rows, columns, values: new Float64Array(rows * columns) };
}

export function gridOfHead(map, head) {
  const size = map.rows * map.columns;
  return { rows: map.rows, columns: map.columns, values: map.weights.subarray(head * size, (head + 1) * size) };
}

// Words of pieces: a word is looked at as much as its pieces together, and looks where its pieces do on average.
export function merged(grid, queries, keys) {
  if (queries.length === grid.rows && keys.length === grid.columns) return grid; // a piece each
  const whole = emptyGrid(queries.length, keys.length);
  queries.forEach((query, row) => {
    for (const token of query.tokens) {
      keys.forEach((key, column) => {
        let sum = 0;
        for (const place of key.tokens) sum += grid.values[token * grid.columns + place];
        whole.values[row * keys.length + column] += sum / query.tokens.length;
      });
    }
  });
  return whole;
}

// Rows that sum to 1 again after keys were left out; a row that has lost everything stays empty.
export function renormalised(grid) {
  const whole = emptyGrid(grid.rows, grid.columns);
  for (let row = 0; row < grid.rows; row++) {
    const own = rowOf(grid, row);
    const sum = own.reduce((total, weight) => total + weight, 0);
    if (sum > 0) own.forEach((weight, column) => (whole.values[row * grid.columns + column] = weight / sum));
  }
  return whole;
}

export function meanOf(grids) {
  return joined(grids, (one, other) => one + other, 1 / grids.length);
}

export function strongestOf(grids) {
  return joined(grids, Math.max, 1);
}

function joined(grids, join, factor) {
  const whole = emptyGrid(grids[0].rows, grids[0].columns);
  for (const grid of grids) for (let i = 0; i < grid.values.length; i++) whole.values[i] = join(whole.values[i], grid.values[i]);
  for (let i = 0; i < whole.values.length; i++) whole.values[i] *= factor;
  return whole;
}

// Attention rollout (Abnar, Zuidema 2020): half of a state comes through the residual connection, half through its heads.
export function rollout(maps) {
  let whole = null;
  for (const map of maps) {
    const layer = meanOf(headsOf(map));
    for (let i = 0; i < layer.values.length; i++) layer.values[i] /= 2;
    for (let row = 0; row < layer.rows; row++) layer.values[row * layer.columns + row] += 0.5;
    const passed = renormalised(layer);
    whole = whole ? product(passed, whole) : passed;
  }
  return whole;
}

// What a decoder sees of the source are encoder states, so its looks are followed through the encoder as well.
export function rolledOut(run, kind) {
  const maps = run.maps.filter((map) => map.kind === kind);
  if (kind !== "cross" && kind !== "recurrent") return rollout(maps);
  const mean = meanOf(maps.map((map) => meanOf(headsOf(map))));
  const encoder = run.maps.filter((map) => map.kind === "encoder");
  return encoder.length ? product(mean, rollout(encoder)) : mean;
}

export function headsOf(map) {
  return Array.from({ length: map.heads }, (_, head) => gridOfHead(map, head));
}

function product(left, right) {
  const whole = emptyGrid(left.rows, right.columns);
  for (let row = 0; row < left.rows; row++) {
    for (let inner = 0; inner < left.columns; inner++) {
      const factor = left.values[row * left.columns + inner];
      if (!factor) continue;
      for (let column = 0; column < right.columns; column++) {
        whole.values[row * right.columns + column] += factor * right.values[inner * right.columns + column];
      }
    }
  }
  return whole;
}

export function rowOf(grid, row) {
  return grid.values.subarray(row * grid.columns, (row + 1) * grid.columns);
}

export function meanRow(grid) {
  const mean = new Float64Array(grid.columns);
  for (let i = 0; i < grid.values.length; i++) mean[i % grid.columns] += grid.values[i] / grid.rows;
  return mean;
}

export function columnOf(grid, column) {
  return Float64Array.from({ length: grid.rows }, (_, row) => grid.values[row * grid.columns + column]);
}

// What tells heads apart, each a mean over queries, as HeadSummary in inspection/record.py has them.
export function figuresOf(grid, ends) {
  let entropy = 0, distance = 0, onEnd = 0;
  for (let row = 0; row < grid.rows; row++) {
    let own = (row * (grid.columns - 1)) / Math.max(grid.rows - 1, 1);
    if (grid.rows === grid.columns) own = Math.round(own);
    rowOf(grid, row).forEach((weight, column) => {
      if (weight > 0) entropy -= weight * Math.log(weight);
      distance += weight * Math.abs(column - own);
      if (ends.has(column)) onEnd += weight;
    });
  }
  distance /= grid.rows;
  return { entropy: entropy / grid.rows, distance, onEnd: onEnd / grid.rows, diagonality: 1 - distance / Math.max(grid.columns - 1, 1) };
}
