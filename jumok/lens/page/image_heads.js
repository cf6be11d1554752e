// All heads of an image's attention, each as it looks from the patch that is pointed at.
import { columnsFor, Heads } from "./heads.js";
import { shareColours } from "./overlay.js";
import { distanceOf, gridOf, litBy, sharesOf } from "./patch_grid.js";
import { measuresOf } from "./weights.js";

const COLUMNS = columnsFor("patch", "patches");
const ON_CLASS = ["onClass", "on class token", 3, "Share of weight on the class token"];

export class ImageHeads extends Heads {
  // pointedOf(state) says what the heads look from.
  constructor(host, state, pointedOf) {
    super(host, state);
    this.pointedOf = pointedOf;
    const hasClassToken = state.runs.some((run) => run.sides.some((side) => side.labels[0] === "[CLASS]"));
    this.columns = hasClassToken ? [...COLUMNS, ON_CLASS] : COLUMNS;
    this.opens = "heads";
  }

  measuresOf(matrix) {
    const grid = gridOf(this.state.selection), special = new Set(Array.from({ length: grid.special }, (_, n) => n));
    const { entropy, onEnd } = measuresOf(matrix, special);
    return { entropy, onClass: onEnd, distance: distanceOf(matrix, grid) };
  }

  drawnOf({ matrix }) {
    const { selection } = this.state;
    const { weights } = litBy({ ...selection, matrix }, this.pointedOf(this.state));
    return sharesOf(weights, gridOf(selection));
  }

  coloursOf() {
    return shareColours();
  }

  light() {
    this.redraw();
  }
}
