// One look of one head, done again from the queries, keys and values of that very forward pass.

function vector(array, ...place) {
  const width = array.shape.at(-1);
  let row = 0;
  place.forEach((number, axis) => (row = row * array.shape[axis] + number));
  return array.values.subarray(row * width, (row + 1) * width);
}

// Every number between the query of a token and the layer's output for it; weights are the record's own.
export function lookOf(map, head, token) {
  const { parts } = map;
  const query = vector(parts.query, head, token);
  const looks = Array.from({ length: map.columns }, (_, place) => {
    const key = vector(parts.key, head, place);
    const score = parts.vector ? additive(query, key, parts.vector.values) : dot(query, key);
    return {
      place, key, score,
      scaled: score * parts.scale,
      allowed: parts.mask ? Boolean(vector(parts.mask, token)[place]) : true,
      weight: map.weights[(head * map.rows + token) * map.columns + place],
      value: vector(parts.value, head, place),
    };
  });
  const sums = Array.from({ length: map.heads }, (_, number) => sumOfValues(map, number, token));
  return { query, looks, sum: sums[head], joined: sums, output: vector(parts.output, token), scale: parts.scale, isAdditive: Boolean(parts.vector) };
}

function dot(one, other) {
  return one.reduce((sum, value, place) => sum + value * other[place], 0);
}

function additive(query, key, weights) {
  return query.reduce((sum, value, place) => sum + weights[place] * Math.tanh(value + key[place]), 0);
}

function sumOfValues(map, head, token) {
  const width = map.parts.value.shape.at(-1);
  const sum = new Float64Array(width);
  for (let place = 0; place < map.columns; place++) {
    const weight = map.weights[(head * map.rows + token) * map.columns + place];
    vector(map.parts.value, head, place).forEach((value, number) => (sum[number] += weight * value));
  }
  return sum;
}
