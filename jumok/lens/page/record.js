// The record as the page uses it: JSON and unpacked arrays become runs with maps, sides and answers.

export function readRuns(data, arrays) {
  return data.runs.map((run) => {
    const counts = {};
    const maps = run.maps.map((map) => {
      const { shape, values } = arrays[map.weights];
      counts[map.kind] = (counts[map.kind] ?? 0) + 1;
      const [heads, rows, columns] = shape;
      const details = map.details && withArrays(map.details, arrays);
      return { ...map, number: counts[map.kind], heads, rows, columns, weights: values, details };
    });
    const positions = run.positions.map((one) => ({ ...one, table: arrays[one.table] }));
    const kinds = [...new Set(maps.map((map) => map.kind))];
    const sides = run.sides.map((side) => ({ ...side, inWords: side.words.some((word, place) => word !== place) }));
    return { ...run, maps, positions, kinds, sides };
  });
}

function withArrays(details, arrays) {
  const found = { scale: details.scale };
  for (const name of ["query", "key", "value", "output", "mask", "vector"]) {
    found[name] = details[name] === null ? null : arrays[details[name]];
  }
  return found;
}

// The tokens of a side, or its words: each knows its label, its tokens, and whether it is the end token.
export function itemsOf(side, words) {
  const grouped = words && side.inWords;
  const items = [];
  side.labels.forEach((label, place) => {
    const number = grouped ? side.words[place] : place;
    items[number] ??= { label: "", tokens: [] };
    items[number].label += label;
    items[number].tokens.push(place);
  });
  return items.map(({ label, tokens }) => {
    const [first] = tokens, whole = grouped ? decoded(label) : label;
    return {
      label: whole,
      tokens,
      shown: spaced(whole),
      continues: side.words.length > 0 && !grouped && first > 0 && side.words[first] === side.words[first - 1],
      isEnd: label === "[END]",
    };
  });
}

// The places of the end token among a side's items.
export function endsOf(items) {
  return new Set(items.flatMap((item, place) => (item.isEnd ? [place] : [])));
}

// Parts of a character are named by their bytes; together they may be the character again.
function decoded(label) {
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
