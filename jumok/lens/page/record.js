// The record as the page uses it: JSON and unpacked arrays → runs with maps, sides and what was said.

export function readRuns(data, arrays) {
  return data.runs.map((run) => {
    const counts = {};
    const maps = run.maps.map((map) => {
      const { shape, values } = arrays[map.weights];
      counts[map.kind] = (counts[map.kind] ?? 0) + 1;
      const [heads, rows, columns] = shape;
      const parts = map.parts && withArrays(map.parts, arrays);
      return { ...map, number: counts[map.kind], heads, rows, columns, weights: values, parts };
    });
    const positions = run.positions.map((one) => ({ ...one, table: arrays[one.table] }));
    const kinds = [...new Set(maps.map((map) => map.kind))];
    const sides = run.sides.map((side) => ({ ...side, inWords: side.words.some((word, place) => word !== place) }));
    return { ...run, maps, positions, kinds, sides };
  });
}

function withArrays(parts, arrays) {
  const found = { scale: parts.scale };
  for (const name of ["query", "key", "value", "output", "mask", "vector"]) {
    found[name] = parts[name] === null ? null : arrays[parts[name]];
  }
  return found;
}

// The tokens of a side, or its words: each knows its label, its tokens, and whether it is the end.
export function itemsOf(side, words) {
  const grouped = words && side.inWords;
  const items = [];
  side.labels.forEach((label, place) => {
    const number = grouped ? side.words[place] : place;
    items[number] ??= { label: "", tokens: [] };
    items[number].label += label;
    items[number].tokens.push(place);
  });
  const known = side.words.length > 0;
  return items.map((item) => ({
    ...item,
    label: grouped ? whole(item.label) : item.label,
    shown: spaced(grouped ? whole(item.label) : item.label),
    joins: known && !grouped && item.tokens[0] > 0 && side.words[item.tokens[0]] === side.words[item.tokens[0] - 1],
    isEnd: item.label === "[END]",
  }));
}

// Pieces of characters are named by their bytes; together they may be characters again.
function whole(label) {
  return label.replace(/(?:<[89A-F][0-9A-F]>)+/g, (named) => {
    const bytes = Uint8Array.from(named.match(/[0-9A-F]{2}/g), (byte) => parseInt(byte, 16));
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      return named;
    }
  });
}

// "▁" marks the space before a token.
export function spaced(label) {
  return label.replace(/^▁+|▁+$/g, "") || label;
}
