// The matrices of a sublayer as small heat maps, drawn when they are asked for.
import { signedColours } from "./colour.js";
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { pixels } from "./renderers.js";
import { say } from "./texts.js";
import { largestOf } from "./vectors.js";

// A fold-out; isOpen and told(isOpen) keep it as the viewer left it. head: of attention, the one whose rows are shown.
export function matricesOf({ sublayer, map }, head, { isOpen, told }) {
  const names = Object.keys(sublayer.matrices);
  const body = make("div", { class: "matrices" });
  const fill = () => {
    const none = say("This page was made without matrices: jumok look … --matrices keeps them.");
    const figures = names.map((name) => figureOf(name, sublayer.matrices[name], map, head));
    body.replaceChildren(...(names.length ? figures : [make("p", { class: "note", text: none })]));
  };
  const summary = map ? say("matrices of head {number}", { number: head + 1 }) : say("matrices");
  const fold = make("details", { class: "fold", open: isOpen }, make("summary", { text: summary }), body);
  fold.addEventListener("toggle", () => {
    told(fold.open);
    if (fold.open && !body.childElementCount) fill();
  });
  if (isOpen) fill();
  return fold;
}

const NAMES = { query: "W_Q", key: "W_K", value: "W_V", output: "W_O", expand: "W₁", contract: "W₂" };

function figureOf(name, { weight }, map, head) {
  const { shape: [rows, columns], values } = weight;
  const matrix = map ? ofHead(name, weight, map, head) : { rows, columns, values };
  const canvas = pixels(matrix, signedColours(largestOf(matrix.values)));
  const readout = make("span", { class: "readout", text: `${matrix.rows} × ${matrix.columns}` });
  const title = {
    query: say("makes queries"), key: say("makes keys"), value: say("makes values"), output: say("joins the heads"),
    expand: say("expands"), contract: say("comes back"),
  }[name];
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${NAMES[name]}: ${title}, ${matrix.rows} × ${matrix.columns}`);
  canvas.addEventListener("pointermove", (event) => {
    const row = Math.min(matrix.rows - 1, Math.floor((event.offsetY / canvas.clientHeight) * matrix.rows));
    const column = Math.min(matrix.columns - 1, Math.floor((event.offsetX / canvas.clientWidth) * matrix.columns));
    if (row < 0 || column < 0) return;
    readout.textContent = `${row + 1}, ${column + 1}: ${decimal(matrix.values[row * matrix.columns + column])}`;
  });
  return make("figure", { "data-matrix": name }, make("figcaption", {}, make("b", { text: NAMES[name] }), ` ${title}`),
    canvas, readout);
}

// The rows of a head; of the output's matrix, its columns.
function ofHead(name, { shape: [rows, columns], values }, { heads }, head) {
  if (name !== "output") {
    const own = rows / heads;
    return { rows: own, columns, values: values.subarray(head * own * columns, (head + 1) * own * columns) };
  }
  const own = columns / heads, cut = new Float32Array(rows * own);
  for (let row = 0; row < rows; row++) {
    cut.set(values.subarray(row * columns + head * own, row * columns + (head + 1) * own), row * own);
  }
  return { rows, columns: own, values: cut };
}
