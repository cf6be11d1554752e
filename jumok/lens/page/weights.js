// Sums over attention weights. A matrix is { rows, columns, values }: a row per query, a column per key.

function emptyMatrix(rows, columns) {
  return { rows, columns, values: new Float64Array(rows * columns) };
}

export function headMatrix(map, head) {
  const size = map.rows * map.columns;
  return { rows: map.rows, columns: map.columns, values: map.weights.subarray(head * size, (head + 1) * size) };
}

// Words of subwords: a word is looked at as much as its subwords together, and looks where they do on average.
export function merged(matrix, queries, keys) {
  if (queries.length === matrix.rows && keys.length === matrix.columns) return matrix; // each word is one subword
  const whole = emptyMatrix(queries.length, keys.length);
  queries.forEach((query, row) => {
    for (const token of query.tokens) {
      keys.forEach((key, column) => {
        let sum = 0;
        for (const place of key.tokens) sum += matrix.values[token * matrix.columns + place];
        whole.values[row * keys.length + column] += sum / query.tokens.length;
      });
    }
  });
  return whole;
}

// Rows that sum to 1 again after keys were left out; a row that has lost everything stays empty.
export function renormalised(matrix) {
  const whole = emptyMatrix(matrix.rows, matrix.columns);
  for (let row = 0; row < matrix.rows; row++) {
    const own = rowOf(matrix, row);
    const sum = own.reduce((total, weight) => total + weight, 0);
    if (sum > 0) own.forEach((weight, column) => (whole.values[row * matrix.columns + column] = weight / sum));
  }
  return whole;
}

export function meanOf(matrices) {
  return joined(matrices, (one, other) => one + other, 1 / matrices.length);
}

export function maximumOf(matrices) {
  return joined(matrices, Math.max, 1);
}

function joined(matrices, join, factor) {
  const whole = emptyMatrix(matrices[0].rows, matrices[0].columns), { values } = whole;
  for (const matrix of matrices) {
    for (let i = 0; i < values.length; i++) values[i] = join(values[i], matrix.values[i]);
  }
  for (let i = 0; i < values.length; i++) values[i] *= factor;
  return whole;
}

// Attention rollout (Abnar, Zuidema 2020): half of a state comes by the residual connection, half by the heads.
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

// A decoder's cross-attention sees encoder states, so its weights are followed through the encoder as well.
export function rolledOut(run, kind) {
  const maps = run.maps.filter((map) => map.kind === kind);
  if (kind !== "cross" && kind !== "recurrent") return rollout(maps);
  const mean = meanOf(maps.map((map) => meanOf(headsOf(map))));
  const encoder = run.maps.filter((map) => map.kind === "encoder");
  return encoder.length ? product(mean, rollout(encoder)) : mean;
}

export function headsOf(map) {
  return Array.from({ length: map.heads }, (_, head) => headMatrix(map, head));
}

function product(left, right) {
  const whole = emptyMatrix(left.rows, right.columns);
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

export function rowOf(matrix, row) {
  return matrix.values.subarray(row * matrix.columns, (row + 1) * matrix.columns);
}

export function columnOf(matrix, column) {
  return Float64Array.from({ length: matrix.rows }, (_, row) => matrix.values[row * matrix.columns + column]);
}

export function meanRow(matrix) {
  const mean = new Float64Array(matrix.columns);
  for (let i = 0; i < matrix.values.length; i++) mean[i % matrix.columns] += matrix.values[i] / matrix.rows;
  return mean;
}

// The weights of what is pointed at: the row of a query, the column of a key.
export function weightsOf(matrix, { side, place }) {
  return side === "query" ? rowOf(matrix, place) : columnOf(matrix, place);
}

// The total variation distance between the rows of a matrix, a mean over all pairs: 0 alike, 1 apart.
export function distanceBetween({ rows, columns, values }) {
  let sum = 0;
  for (let one = 0; one < rows; one++) {
    for (let other = one + 1; other < rows; other++) {
      for (let column = 0; column < columns; column++) {
        sum += Math.abs(values[one * columns + column] - values[other * columns + column]) / 2;
      }
    }
  }
  return rows > 1 ? sum / ((rows * (rows - 1)) / 2) : 0;
}

// What tells heads apart, each a mean over queries, as HeadSummary in inspection/record.py has it.
export function measuresOf(matrix, ends) {
  const { rows, columns } = matrix;
  let entropy = 0, distance = 0, onEnd = 0;
  for (let row = 0; row < rows; row++) {
    let own = (row * (columns - 1)) / Math.max(rows - 1, 1);
    if (rows === columns) own = Math.round(own);
    rowOf(matrix, row).forEach((weight, column) => {
      if (weight > 0) entropy -= weight * Math.log(weight);
      distance += weight * Math.abs(column - own);
      if (ends.has(column)) onEnd += weight;
    });
  }
  distance /= rows;
  const diagonality = 1 - distance / Math.max(columns - 1, 1);
  return { entropy: entropy / rows, distance, onEnd: onEnd / rows, diagonality };
}
