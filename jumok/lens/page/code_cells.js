// The codes of an image's cells: what each is called, its digits, and where a code is used.
import { say } from "./texts.js";

export function placeOfCell({ columns }, place) {
  return say("row {row}, column {column}", { row: Math.floor(place / columns) + 1, column: (place % columns) + 1 });
}

export function nameOfCell(view, place) {
  return `${placeOfCell(view, place)}: ${say("code {code}", { code: view.codes[place] })}`;
}

// A code is a number whose digits are levels, the first the lowest; none where a code is a mere number.
export function digitsOf(code, levels) {
  let rest = code;
  return levels.map((level) => {
    const digit = rest % level;
    rest = (rest - digit) / level;
    return { digit, level };
  });
}

export function usesOf({ codes }, code) {
  return codes.flatMap((one, place) => (one === code ? [place] : []));
}
