// The data of a page: its JSON, and its numbers from base85 to typed arrays. lens/packing.py is the other half.
import { find } from "./elements.js";
import { startTexts } from "./texts.js";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%[:)*+-;,=>?@^_`.|}~";
const ARRAYS = { f4: Float32Array, i2: Int16Array, u1: Uint8Array };

// Call start(data, arrays) with what the page holds, then mark the page as ready.
export async function startPage(start) {
  const data = JSON.parse(find("data").textContent, revived);
  find("footer").dataset.say = data.footer;
  startTexts(data);
  start(data, await unpack(find("numbers").textContent, data.arrays));
  document.documentElement.dataset.ready = "";
}

// JSON has no NaN and no infinity: jumok/json_text.py tells them by name.
function revived(key, value) {
  return value?.nonfinite === undefined ? value : Number(value.nonfinite);
}

async function unpack(text, places) {
  const inflated = new Blob([decoded(text.trim())]).stream().pipeThrough(new DecompressionStream("deflate"));
  const whole = new Uint8Array(await new Response(inflated).arrayBuffer());
  return places.map((place) => unpackOne(whole, place));
}

// Five characters are four bytes, the most significant first. The last ones may be fewer: as if "~" followed.
function decoded(text) {
  const missing = (5 - (text.length % 5)) % 5, whole = text + "~".repeat(missing), values = new Uint8Array(128);
  const view = new DataView(new ArrayBuffer((whole.length / 5) * 4));
  [...ALPHABET].forEach((letter, value) => (values[letter.charCodeAt(0)] = value));
  for (let at = 0, place = 0; at < whole.length; place += 4) {
    let number = 0;
    for (let i = 0; i < 5; i++) number = number * 85 + values[whole.charCodeAt(at++)];
    view.setUint32(place, number);
  }
  return view.buffer.slice(0, view.byteLength - missing);
}

// The first bytes of all numbers stand together, then the second bytes, and so on.
function unpackOne(whole, { type, shape, start, scale }) {
  const size = shape.reduce((product, length) => product * length, 1);
  const found = new ARRAYS[type](size);
  const bytes = new Uint8Array(found.buffer);
  const width = found.BYTES_PER_ELEMENT;
  for (let plane = 0; plane < width; plane++) {
    const from = start + plane * size;
    for (let i = 0; i < size; i++) bytes[i * width + plane] = whole[from + i];
  }
  if (scale === undefined) return { shape, values: found };
  const values = new Float32Array(size); // a loop: Float32Array.from takes seconds for millions
  for (let i = 0; i < size; i++) values[i] = found[i] * scale;
  return { shape, values };
}
