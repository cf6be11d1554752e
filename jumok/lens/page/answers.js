// The n best answers of the search, with their scores.
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { Panel } from "./panel.js";
import { say } from "./texts.js";

export class Answers extends Panel {
  constructor(host, state) {
    super(host, state, "answers");
  }

  show() {
    const { answers } = this.state.run;
    if (!answers.length) return this.showNote(say("This record has no answers: it is of one forward pass."));
    const rows = answers.map(({ text, score }, number) => make("li", { class: number ? "" : "best" },
      make("span", { class: "answer", text: text || say("(nothing)") }),
      make("span", { class: "number", text: decimal(score) })));
    const scores = say("Scores are log-probabilities divided by length; nearer to 0 is likelier.");
    const text = `${scores} ${say("The first answer is the one shown.")}`;
    this.host.replaceChildren(make("p", { class: "remark", text }), make("ol", {}, ...rows));
  }
}
