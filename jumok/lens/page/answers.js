// The n best answers of the search, with their scores.
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { Panel } from "./panel.js";

const SCORES = "Scores are log-probabilities, divided by length; nearer to 0 is likelier. The first is the one shown.";

export class Answers extends Panel {
  constructor(host, state) {
    super(host, state, "answers");
  }

  show() {
    const { answers } = this.state.run;
    if (!answers.length) return this.showNote("This record has no answers: it is of one forward pass.");
    const rows = answers.map(({ text, score }, number) => make("li", { class: number ? "" : "best" },
      make("span", { class: "answer", text: text || "(nothing)" }),
      make("span", { class: "number", text: decimal(score) })));
    this.host.replaceChildren(make("p", { class: "remark", text: SCORES }), make("ol", {}, ...rows));
  }
}
