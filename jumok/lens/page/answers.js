// The n best answers of the search, with their scores.
import { decimal, make } from "./build.js";

export class Answers {
  constructor(host, state) {
    this.state = state;
    this.host = make("div", { class: "answers" });
    host.append(this.host);
  }

  show() {
    const { answers } = this.state.run;
    if (!answers.length) {
      this.host.replaceChildren(make("p", { class: "note", text: "This record has no answers: it is of a forward pass alone." }));
      return;
    }
    const rows = answers.map(({ text, score }, number) => make("li", { class: number ? "" : "best" }, make("span", { class: "said", text: text || "(nothing)" }), make("span", { class: "number", text: decimal(score) })));
    this.host.replaceChildren(make("p", { class: "why", text: "Scores are log-probabilities, divided by length; nearer to 0 is likelier. The first is the one shown." }), make("ol", {}, ...rows));
  }

  light() {}
}
