// The model's own table of positions: a row per position and a column per feature, or how alike positions are.
import { styleOf, signedColours } from "./colour.js";
import { radios } from "./controls.js";
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { sideName } from "./kinds.js";
import { readableLabels, spaced } from "./labels.js";
import { Panel } from "./panel.js";
import { CanvasRenderer, widestOf } from "./renderers.js";
import { cosinesOf, cosineTold, SimilarityGrid, SimilarityMap } from "./similarity.js";
import { say } from "./texts.js";

const ROW = 16, BETWEEN = 12; // pixels: a row, the space between two tables in a file

export class Positions extends Panel {
  constructor(host, state) {
    super(host, state, "positions");
    this.shown = "table";
  }

  show() {
    const { positions } = this.state.run;
    if (!positions.length) {
      const none = say("This record has no table of positions: the model has none, or it was made without details.");
      return this.showNote(none);
    }
    this.figures = positions.map((one) => this.#figureOf(one));
    const options = [
      { value: "table", text: say("table"), title: say("A row for each position, a column for each feature") },
      { value: "similarity", text: say("similarity"), title: say("The cosine of every two positions") },
    ];
    const choose = ({ positions: shown }) => {
      this.shown = shown;
      this.state.set({});
      this.host.querySelector(`[value=${shown}]`).focus();
    };
    const control = radios(say("positions as"), { name: "positions", options, value: this.shown, choose });
    this.host.replaceChildren(control, ...this.figures.flatMap((one) => this.#elementsOf(one)));
    this.figures.forEach((one) => {
      const { width, height } = one.size;
      one.draw(new CanvasRenderer(one.canvas, width, height), 0);
    });
  }

  size() {
    const height = this.figures.reduce((sum, { size }) => sum + size.height + BETWEEN, 0);
    return { width: Math.max(1, ...this.figures.map(({ size }) => size.width)), height };
  }

  draw(renderer) {
    let top = 0;
    for (const one of this.figures) {
      one.draw(renderer, top);
      top += one.size.height + BETWEEN;
    }
  }

  #figureOf(one) {
    const labels = readableLabels(one.labels).map(spaced), width = Math.max(this.host.clientWidth, 300);
    return this.shown === "table" ? tableOf(one, labels, width) : similarityOf(one, labels, width);
  }

  #elementsOf(one) {
    const readout = make("p", { class: "readout", text: say("Point at a cell for its number.") });
    one.canvas = make("canvas", { role: "img", "aria-label": one.description });
    one.canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
      readout.textContent = one.tell(offsetX, offsetY) ?? readout.textContent;
    });
    return [make("h3", { text: this.#titleOf(one.positions), title: one.positions.path }),
      make("p", { class: "remark", text: one.remark }), readout, make("div", { class: "figure scrolls" }, one.canvas)];
  }

  // Positions belong to the sequence whose labels they have.
  #titleOf({ labels, path }) {
    const side = this.state.run.sides.find((one) => labels.length && one.labels.join() === labels.join());
    if (this.state.run.positions.length === 1) return say("positions");
    return side ? say("positions of: {side}", { side: sideName(side) }) : path;
  }
}

function tableOf(positions, labels, width) {
  const { table, kind, join } = positions, [rows, columns] = table.shape;
  const left = widestOf(labels, 12) + 40, across = Math.max(3, Math.min(24, Math.floor((width - left - 4) / columns)));
  const nameAt = (row) => (labels[row] === undefined ? `${row}` : `${labels[row]}  ${row}`);
  return {
    positions,
    size: { width: left + across * columns, height: ROW * rows },
    description: say("table of positions"),
    remark: `${kindTold(kind)}; ${join === "add" ? say("added to the embedding") : say("put behind the embedding")}`,
    draw(renderer, top) {
      const largest = table.values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const matrix = { rows, columns, values: table.values };
      renderer.cells(left, top, across * columns, ROW * rows, matrix, signedColours(largest));
      for (let row = 0; row < rows; row++) {
        const colour = row < labels.length ? styleOf("ink") : styleOf("quiet");
        renderer.text(left - 6, top + ROW * (row + 0.5), nameAt(row), { colour, size: 12, align: "right" });
      }
    },
    tell(x, y) {
      const row = Math.floor(y / ROW), column = Math.floor((x - left) / across);
      if (column < 0 || column >= columns || row < 0 || row >= rows) return null;
      const number = decimal(table.values[row * columns + column], 4);
      const where = say("position {row}, feature {column}", { row, column });
      return `${labels[row] === undefined ? "" : `${labels[row]} · `}${where}: ${number}`;
    },
  };
}

function similarityOf(positions, labels, width) {
  const cosines = cosinesOf(positions.table), { grid } = positions;
  const figure = grid ? new SimilarityGrid(cosines, grid, width) : new SimilarityMap(cosines, width);
  const nameAt = (row) => (grid ? labels[row] : `${row}${labels[row] === undefined ? "" : ` (${labels[row]})`}`);
  return {
    positions,
    size: figure.size,
    description: say("similarity of positions"),
    remark: grid
      ? say("A small map for each patch: how alike its position is to every other's (red alike, blue opposite).")
      : say("The cosine of every two positions: red where they are alike, blue where opposite."),
    draw: (renderer, top) => figure.draw(renderer, { left: 0, top }, signedColours(1)),
    tell(x, y) {
      const found = figure.at(x, y);
      return found && cosineTold(found, nameAt);
    },
  };
}

function kindTold(kind) {
  return {
    sinusoidal: say("sinusoids, sine and cosine in turn: the first two features have the shortest wave"),
    "sinusoidal-halves": say("sinusoids, first all sines, then all cosines"),
    "sinusoidal-grid": say("sinusoids: half of the features say the row, half the column"),
    learned: say("a learnt table"),
    index: say("the number of the position itself"),
  }[kind] ?? kind;
}
