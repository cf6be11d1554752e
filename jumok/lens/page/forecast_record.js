// A forecast as the page uses it: values by target, bands, ways, and the maps that are of a target.

// A run of the record (record.js) with what only forecasts have; of(target) is the run with that target's maps.
export function forecastOf(run, arrays) {
  const array = (name) => (run[name] === null ? null : arrays[run[name]]);
  const names = ["history", "point", "truth", "quantiles", "ways", "likelihood"];
  const found = Object.fromEntries(names.map((name) => [name, array(name)])), count = run.targets.length;
  const column = (values, target, from, rows) => Float64Array.from({ length: rows }, (_, place) => (
    values[(from + place) * count + target]));
  const one = (name, target) => found[name] && column(found[name].values, target, 0, found[name].shape[0]);
  const ahead = run.ahead.length, pairs = pairsOf(run.levels);
  const level = (place, target) => column(found.quantiles.values, target, place * ahead, ahead);
  const likeliest = found.ways ? orderOf(found.likelihood.values) : [];
  const most = found.ways ? Math.max(...found.likelihood.values) : 1;

  const read = {
    ...run, ...found,
    valuesOf: (target) => Object.fromEntries(["history", "point", "truth"].map((name) => [name, one(name, target)])),
    // The widest first.
    bandsOf: (target) => pairs.map(([low, high]) => (
      { low: level(low, target), high: level(high, target), levels: [run.levels[low], run.levels[high]] })),
    widestBand: pairs.length && !run.paths ? { low: run.levels[pairs[0][0]], high: run.levels[pairs[0][1]] } : null,
    // The likeliest last, so that it lies on top; a share is relative to it.
    waysOf: (target) => likeliest.map((way) => (
      { values: column(found.ways.values, target, way * ahead, ahead), share: found.likelihood.values[way] / most })),
    placesOf: (name) => [...one(name, 0)].map((x, place) => [x, one(name, 1)[place]]),
    pathWays: () => likeliest.map((way) => {
      const [xs, ys] = [0, 1].map((target) => column(found.ways.values, target, way * ahead, ahead));
      return { places: [...xs].map((x, place) => [x, ys[place]]), share: found.likelihood.values[way] / most };
    }),
    rangeOf: (target) => {
      const values = [...one("history", target), ...one("point", target)].filter(Number.isFinite);
      return Math.max(...values) - Math.min(...values);
    },
  };
  const maps = (target) => run.maps.filter((map) => map.target === null || map.target === target);
  read.of = (target) => {
    const numbers = {};
    const own = maps(target).map((map) => ({ ...map, number: (numbers[map.kind] = (numbers[map.kind] ?? 0) + 1) }));
    return { ...read, maps: own };
  };
  return read;
}

// The places of levels that lie as far from the middle, the widest pair first.
function pairsOf(levels) {
  return levels.flatMap((low, place) => {
    const other = levels.findIndex((high) => low < 0.5 && Math.abs(low + high - 1) < 1e-9);
    return other < 0 ? [] : [[place, other]];
  });
}

function orderOf(values) {
  return [...values.keys()].sort((one, other) => values[one] - values[other]);
}
