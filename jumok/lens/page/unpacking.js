// The data of a page: its JSON, and its numbers from base64 to typed arrays. lens/packing.py is the other half.
import { find } from "./elements.js";
import { startTexts } from "./texts.js";

const ARRAYS = { f4: Float32Array, i2: Int16Array, u1: Uint8Array };

// Call start(data, arrays) with what the page holds, then mark the page as ready.
export async function startPage(start) {
  const data = JSON.parse(find("data").textContent);
  find("footer").dataset.say = data.footer;
  startTexts(data);
  start(data, await unpack(find("numbers").textContent, data.arrays));
  document.documentElement.dataset.ready = "";
}

async function unpack(text, places) {
  const packed = atob(text.trim());
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const whole = new Uint8Array(await new Response(inflated).arrayBuffer());
  return places.map((place) => unpackOne(whole, place));
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
