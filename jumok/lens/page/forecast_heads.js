// All heads of a forecaster, each as a small map, its strongest weight in the strongest colour.
import { columnsFor, Heads } from "./heads.js";
import { isOcclusion, largestSize, middleOf } from "./forecast_time.js";
import { decimal } from "./formats.js";
import { say } from "./texts.js";
import { measuresOf } from "./weights.js";

export class ForecastHeads extends Heads {
  constructor(host, state) {
    super(host, state);
    this.parts = [...this.host.children];
  }

  show() {
    if (isOcclusion(this.state.selection)) {
      this.showNote(say("What changes without a stretch is told of the whole model, not of its heads."));
      return;
    }
    this.host.replaceChildren(...this.parts);
    super.show();
  }

  columns() {
    const all = columnsFor(say("step"), say("steps"));
    return [...all.slice(0, 3), ["lag", say("mean lag"), 1, say("Mean distance in steps to what it looks at")]];
  }

  measuresOf(matrix) {
    return { entropy: measuresOf(matrix, new Set()).entropy, lag: meanLag(matrix, this.state.selection) };
  }

  toldOf(one) {
    return say("spread {spread}, mean lag {lag}", { spread: decimal(one.entropy, 2), lag: decimal(one.lag, 1) });
  }

  drawnOf({ matrix }) {
    const most = largestSize(matrix.values) || 1;
    return { ...matrix, values: matrix.values.map((weight) => weight / most) };
  }
}

// Undefined where tokens stand for no stretch of time.
function meanLag({ rows, columns, values }, { querySide, keySide }) {
  let sum = 0, weight = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const from = querySide.spans[row], to = keySide.spans[column];
      if (!from || !to) continue;
      sum += values[row * columns + column] * Math.abs(middleOf(from) - middleOf(to));
      weight += values[row * columns + column];
    }
  }
  return weight ? sum / weight : undefined;
}
