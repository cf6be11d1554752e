// The attention of one query in one head, computed again from the queries, keys and values of that very forward pass.

// The last axis of an array at a place, as plain numbers of the page.
export function vectorAt(array, ...place) {
  const width = array.shape.at(-1);
  let row = 0;
  place.forEach((number, axis) => (row = row * array.shape[axis] + number));
  return array.values.subarray(row * width, (row + 1) * width);
}

// Every number between the query of a token and the layer's output for it; weights are the record's own.
export function attentionOf(map, head, token) {
  const { details } = map, query = vectorAt(details.query, head, token);
  const keys = Array.from({ length: map.columns }, (_, place) => {
    const key = vectorAt(details.key, head, place);
    const score = details.vector ? additive(query, key, details.vector.values) : dot(query, key);
    return {
      key,
      score,
      scaled: score * details.scale,
      isAllowed: details.mask ? Boolean(vectorAt(details.mask, token)[place]) : true,
      weight: weightAt(map, head, token, place),
      value: vectorAt(details.value, head, place),
    };
  });
  const sums = Array.from({ length: map.heads }, (_, number) => sumOfValues(map, number, token));
  const output = vectorAt(details.output, token);
  return { query, keys, sums, sum: sums[head], output, scale: details.scale, isAdditive: Boolean(details.vector) };
}

function weightAt(map, head, token, place) {
  return map.weights[(head * map.rows + token) * map.columns + place];
}

function dot(one, other) {
  return one.reduce((sum, value, place) => sum + value * other[place], 0);
}

function additive(query, key, weights) {
  return query.reduce((sum, value, place) => sum + weights[place] * Math.tanh(value + key[place]), 0);
}

function sumOfValues(map, head, token) {
  const { value } = map.details, sum = new Float64Array(value.shape.at(-1));
  for (let place = 0; place < map.columns; place++) {
    const weight = weightAt(map, head, token, place);
    vectorAt(value, head, place).forEach((one, number) => (sum[number] += weight * one));
  }
  return sum;
}
