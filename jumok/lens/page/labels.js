// Labels of tokens as people read them: bytes of one character, scattered over tokens, are joined again.

const REST = "·"; // stands for a token that is the rest of a character begun before it
const BYTE = /^<([89A-F][0-9A-F])>$/;

// The rule of jumok/inspection/labels.py: a character stands with the token that has its first byte, and bytes that
// make no character together keep their names.
export function readableLabels(labels) {
  const shown = labels.map(() => "");
  let run = []; // neighbouring bytes, each with the place of its label
  labels.forEach((label, place) => {
    for (const part of label.split(/(<[89A-F][0-9A-F]>)/).filter(Boolean)) {
      const found = BYTE.exec(part);
      if (found) run.push({ byte: parseInt(found[1], 16), place });
      else {
        write(run, shown);
        run = [];
        shown[place] += part;
      }
    }
  });
  write(run, shown);
  return shown;
}

function write(run, shown) {
  for (let at = 0; at < run.length;) {
    const { byte, place } = run[at], length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    const part = run.slice(at, at + length), character = decoded(part.map((one) => one.byte));
    if (character === null) {
      shown[place] += `<${byte.toString(16).toUpperCase()}>`;
      at += 1;
      continue;
    }
    shown[place] += character;
    new Set(part.map((one) => one.place)).forEach((later) => {
      if (later !== place) shown[later] += REST;
    });
    at += length;
  }
}

// The one character that some bytes are, or null.
function decoded(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
    return [...text].length === 1 ? text : null;
  } catch {
    return null;
  }
}

// "▁" marks the space before a token.
export function spaced(label) {
  return label.replace(/^▁+|▁+$/g, "") || label;
}
