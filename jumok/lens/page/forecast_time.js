// Tokens on the axis of time: the steps they cover, the token at a step, what a token or nothing lights up.
import { fixed } from "./forecast_axes.js";
import { say } from "./texts.js";
import { columnOf, meanRow, rowOf } from "./weights.js";

export const OCCLUSION = "occlusion";
const CONTEXT = "[CONTEXT]";

// Changes have a sign and are in the data's units; weights are shares.
export function isOcclusion({ settings, matrix }) {
  return Boolean(matrix) && settings.kind === OCCLUSION;
}

export function middleOf([first, last]) {
  return (first + last) / 2;
}

// Where each token is drawn: from halfway to the one before it to halfway to the next, so that patches that overlap
// lie side by side. null: a token that stands for no stretch of time.
export function slotsOf({ spans }) {
  const known = spans.filter(Boolean), middles = known.map(middleOf);
  let next = 0;
  return spans.map((span) => {
    if (!span) return null;
    const place = next++, one = middles[place];
    const step = (span[1] - span[0]) / 2;
    const before = place ? (middles[place - 1] + one) / 2 : Math.min(span[0], one - step);
    const after = place < middles.length - 1 ? (one + middles[place + 1]) / 2 : Math.max(span[1], one + step);
    return [before, after];
  });
}

// The token of a selection at a step: who looks comes before what is looked at.
export function tokenAt(selection, step) {
  const { matrix, querySide, keySide, isOneSide, settings } = selection;
  if (!matrix || step === null) return null;
  const placeIn = (side) => slotsOf(side).findIndex((slot) => slot && slot[0] <= step + 0.5 && step + 0.5 < slot[1]);
  const query = placeIn(querySide);
  if (query >= 0) return { side: isOneSide ? settings.side : "query", place: query };
  const key = placeIn(keySide);
  return key >= 0 ? { side: "key", place: key } : null;
}

// What is lit: weights over the tokens of one side, by what is pointed at; without that, the mean over all that look.
export function litBy(selection, token) {
  const { matrix, querySide, keySide } = selection;
  if (!matrix) return null;
  if (!token) return { side: keySide, weights: isOcclusion(selection) ? meanSize(matrix) : meanRow(matrix) };
  return token.side === "query"
    ? { side: keySide, weights: rowOf(matrix, token.place) }
    : { side: querySide, weights: columnOf(matrix, token.place) };
}

function meanSize({ rows, columns, values }) {
  return meanRow({ rows, columns, values: values.map(Math.abs) });
}

export function largestSize(values) {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}

// The mean weight by the distance in steps between who looks and what is looked at, [steps, mean]; of changes, their
// sizes. Where steps look at each other, both directions count.
export function meanByLag({ matrix, querySide, keySide }) {
  const sums = new Map(), middles = (side) => side.spans.map((span) => span && middleOf(span));
  const from = middles(querySide), to = middles(keySide);
  from.forEach((one, row) => {
    if (one === null) return;
    to.forEach((other, column) => {
      if (other === null) return;
      const lag = Math.round(Math.abs(one - other)), found = sums.get(lag) ?? [0, 0];
      found[0] += Math.abs(matrix.values[row * matrix.columns + column]);
      found[1] += 1;
      sums.set(lag, found);
    });
  });
  return [...sums].map(([lag, [sum, count]]) => [lag, sum / count]).sort(([one], [other]) => one - other);
}

export function hasLags({ matrix, querySide, keySide }) {
  return Boolean(matrix) && [querySide, keySide].every((side) => side.spans.some(Boolean));
}

export function labelOf(side, place) {
  return side.labels[place] === CONTEXT ? say("what is known ahead") : side.labels[place];
}

// A distance in steps, and in weeks or days where it is whole ones.
export function lagTold(steps, { week, day }) {
  const told = say("lag {steps}", { steps });
  if (week && steps && steps % week === 0) return `${told} (${say("{count} × week", { count: steps / week })})`;
  if (day && steps && steps % day === 0) return `${told} (${say("{count} × day", { count: steps / day })})`;
  return told;
}

// A number with as many digits as the range it is read in needs.
export function numberIn(value, range) {
  if (!Number.isFinite(value)) return "–";
  return fixed(value, 2 - Math.floor(Math.log10(range || Math.abs(value) || 1)));
}
