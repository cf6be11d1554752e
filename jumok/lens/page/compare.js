// Runs side by side on one sentence: each with its words, which light up by themselves.
import { decimal, make } from "./build.js";
import { weightColours } from "./colour.js";
import { pixels } from "./pen.js";
import { seenOf } from "./seen.js";
import { Words } from "./words.js";

export class Compare {
  constructor(host, state) {
    this.state = state;
    this.host = make("div", { class: "runs" });
    host.append(this.host);
  }

  show() {
    const { runs, choice } = this.state;
    this.host.replaceChildren(...runs.map((run, number) => {
      const seen = seenOf(run, { ...choice, layer: 0, heads: [] });
      const best = run.answers[0];
      const card = make("article", { class: number === choice.run ? "card chosen" : "card", "data-run": number, "aria-label": run.name },
        make("h3", {}, make("button", { class: "runname", text: run.name, title: "show this run above", onclick: () => this.state.set({ run: number }) })),
        make("p", { class: "said", text: run.answer }),
        best ? make("p", { class: "why", text: `score ${decimal(best.score)}` }) : null);
      let pinned = null;
      const words = new Words(card, {
        point: (side, place) => words.light(place === null ? held() : { side, place }, pinned),
        pin: (place) => { pinned = place === pinned ? null : place; words.light(held(), pinned); },
      });
      const held = () => (pinned === null ? null : { side: "query", place: pinned });
      words.show(seen);
      if (seen.grid) card.append(make("div", { class: "thumb still" }, pixels(seen.grid, weightColours())));
      return card;
    }));
  }

  light() {}
}
