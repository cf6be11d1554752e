// All heads over an image, each as it looks from the word that is pointed at, and how far their words are apart.
import { columnsFor, Heads } from "./heads.js";
import { decimal } from "./formats.js";
import { overlayColours, shareColours } from "./overlay.js";
import { gridOf, sharesOf } from "./patch_grid.js";
import { say } from "./texts.js";
import { distanceBetween, measuresOf, meanRow, rowOf } from "./weights.js";

export class CaptionHeads extends Heads {
  // overlayOf(state) says what lies over the image.
  constructor(host, state, { overlayOf }) {
    super(host, state);
    Object.assign(this, { opens: "heads", overlayOf });
  }

  get isOverImage() {
    return Boolean(this.state.run.grids[this.state.settings.kind]);
  }

  columns() {
    if (!this.isOverImage) return super.columns();
    return [
      ...columnsFor(say("place"), say("places")).slice(0, 3),
      ["apart", say("words apart"), 2,
        say("How much the maps of two words differ, a mean over pairs: 0 alike, 1 apart")],
    ];
  }

  measuresOf(matrix, ends) {
    if (!this.isOverImage) return super.measuresOf(matrix, ends);
    return { entropy: measuresOf(matrix, new Set()).entropy, apart: distanceBetween(matrix) };
  }

  toldOf(one) {
    if (!this.isOverImage) return super.toldOf(one);
    const values = { spread: decimal(one.entropy, 2), apart: decimal(one.apart, 2) };
    return say("spread {spread}, words apart {apart}", values);
  }

  drawnOf({ matrix }) {
    if (!this.isOverImage) return matrix;
    const { selection, pointed } = this.state;
    const weights = pointed?.side === "query" ? rowOf(matrix, pointed.place) : meanRow(matrix);
    return sharesOf(weights, gridOf(selection));
  }

  coloursOf() {
    return this.isOverImage ? shareColours() : super.coloursOf();
  }

  // The image shines through on the screen.
  coloursOnScreen() {
    this.host.classList.toggle("over-image", this.isOverImage);
    return this.isOverImage ? overlayColours(this.overlayOf(this.state)) : super.coloursOnScreen();
  }

  light() {
    this.redraw();
  }
}
