// All heads of an image's attention, each as it looks from the patch that is pointed at.
import { columnsFor, Heads } from "./heads.js";
import { shareColours } from "./overlay.js";
import { distanceOf, gridOf, litBy, sharesOf } from "./patch_grid.js";
import { say } from "./texts.js";
import { measuresOf } from "./weights.js";

export class ImageHeads extends Heads {
  constructor(host, state) {
    super(host, state);
    this.hasClassToken = state.runs.some((run) => run.sides.some((side) => side.labels[0] === "[CLASS]"));
    this.opens = "heads";
  }

  columns() {
    const columns = columnsFor(say("patch"), say("patches"));
    if (!this.hasClassToken) return columns;
    return [...columns, ["onClass", say("on the class token"), 3, say("Share of weight on the class token")]];
  }

  measuresOf(matrix) {
    const grid = gridOf(this.state.selection), special = new Set(Array.from({ length: grid.special }, (_, n) => n));
    const { entropy, onEnd } = measuresOf(matrix, special);
    return { entropy, onClass: onEnd, distance: distanceOf(matrix, grid) };
  }

  drawnOf({ matrix }) {
    const { selection } = this.state;
    const { weights } = litBy({ ...selection, matrix }, this.state.pointed);
    return sharesOf(weights, gridOf(selection));
  }

  coloursOf() {
    return shareColours();
  }

  light() {
    this.redraw();
  }
}
