// All heads of a drawer over the grid: of the cell or word that is pointed at, else how much cells look at words.
import { cellsLookedAt, cellsLookingAt, partsOf, reachOf, sumOf } from "./drawing_weights.js";
import { decimal, percent } from "./formats.js";
import { columnsFor, Heads } from "./heads.js";
import { overlayColours, shareColours } from "./overlay.js";
import { sharesOf } from "./patch_grid.js";
import { say } from "./texts.js";
import { measuresOf, meanRow, rowOf } from "./weights.js";

export class DrawingHeads extends Heads {
  // overlayOf() says what lies over the image, among() what a word's map counts.
  constructor(host, state, { overlayOf, among }) {
    super(host, state);
    Object.assign(this, { opens: "heads", overlayOf, among });
    this.host.classList.add("over-image");
  }

  get grid() {
    const { run, settings } = this.state;
    return { ...run.grids[settings.kind], special: 0 };
  }

  columns() {
    return [
      ...columnsFor(say("place"), say("places")).slice(0, 3),
      ["onWords", say("on words"), 2, say("Share of weight on the words of the text")],
      ["onCells", say("on earlier cells"), 2, say("Share of weight on cells drawn before")],
      ["reach", say("cells away"), 1, say("Distance in cells to the earlier cells it looks at")],
    ];
  }

  measuresOf(matrix) {
    const parts = partsOf(this.state.selection), mean = meanRow(matrix);
    return {
      entropy: measuresOf(matrix, new Set()).entropy, onWords: sumOf(mean, parts.words),
      onCells: sumOf(mean, parts.cells), reach: reachOf({ matrix, parts, columns: this.grid.columns }),
    };
  }

  toldOf({ entropy, onWords, onCells }) {
    const values = { spread: decimal(entropy, 2), words: percent(onWords, 0), cells: percent(onCells, 0) };
    return say("spread {spread}, {words} on words, {cells} on earlier cells", values);
  }

  drawnOf({ matrix }) {
    const { selection, pointed } = this.state, own = { ...selection, matrix }, { words } = partsOf(selection);
    if (pointed?.side === "query") return sharesOf(cellsLookedAt(own, pointed.place), this.grid);
    if (pointed) return sharesOf(cellsLookingAt(own, pointed.place, this.among()), this.grid);
    return sharesOf(selection.queries.map((_, cell) => sumOf(rowOf(matrix, cell), words)), this.grid);
  }

  coloursOf() {
    return shareColours();
  }

  // The image shines through on the screen.
  coloursOnScreen() {
    return overlayColours(this.overlayOf());
  }

  light() {
    this.redraw();
  }
}
