// The n best captions of the search with their scores; one that the page has maps of can be looked at.
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { Panel } from "./panel.js";
import { say } from "./texts.js";

export class Captions extends Panel {
  // choose(number) shows another caption; countOf(state) says how many the page has maps of.
  constructor(host, state, { choose, countOf }) {
    super(host, state, "answers");
    Object.assign(this, { choose, countOf });
  }

  show() {
    const { run } = this.state, count = this.countOf(this.state);
    const rows = run.answers.map(({ text, score }, number) => make("li", {}, make("button", {
      disabled: number >= count, "aria-pressed": String(number === (run.version ?? 0)), "data-caption": number,
      onclick: () => this.choose(number),
    }, make("span", { text: text || say("(nothing)") }), make("span", { class: "number", text: decimal(score) }))));
    const scores = say("Scores are log-probabilities divided by length; nearer to 0 is likelier.");
    const also = count > 1 ? say("Click one to see where its words looked.") : "";
    this.host.replaceChildren(
      make("p", { class: "remark", text: `${scores} ${also}`.trim() }), make("ol", { class: "captions" }, ...rows));
  }
}
