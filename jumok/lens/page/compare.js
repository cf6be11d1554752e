// Runs side by side on one sentence: each a card with its words, which light up by themselves.
import { weightColours } from "./colour.js";
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { Panel } from "./panel.js";
import { pixels } from "./renderers.js";
import { selectionOf } from "./selection.js";
import { say } from "./texts.js";
import { Words } from "./words.js";

export class Compare extends Panel {
  constructor(host, state) {
    super(host, state, "runs");
  }

  show() {
    this.host.replaceChildren(...this.state.runs.map((run, number) => this.#card(run, number)));
  }

  #card(run, number) {
    const { settings, set } = this.state, [best] = run.answers, isChosen = number === settings.run;
    const title = say("show this run above"), choose = () => set({ run: number });
    const properties = { class: isChosen ? "card chosen" : "card", "data-run": number, "aria-label": run.name };
    const card = make("article", properties,
      make("h3", {}, make("button", { class: "run-name", text: run.name, title, onclick: choose })),
      make("p", { class: "answer", text: run.answer }),
      best ? make("p", { class: "remark", text: say("score {score}", { score: decimal(best.score) }) }) : null);
    const selection = selectionOf(run, { ...settings, layer: 0, heads: [] });
    showWords(card, selection, settings.side);
    if (selection.matrix) {
      card.append(make("div", { class: "thumbnail still" }, pixels(selection.matrix, weightColours())));
    }
    return card;
  }
}

// Words with a pointer and a pin of their own; chosen is the side of a sequence that looks at itself.
function showWords(card, selection, chosen) {
  let pinned = null;
  const sideOf = (side) => (selection.isOneSide ? chosen : side);
  const held = () => (pinned === null ? null : { side: sideOf("query"), place: pinned });
  const words = new Words(card, {
    point: (side, place) => words.light(place === null ? held() : { side: sideOf(side), place }, pinned),
    pin: (place) => {
      pinned = place === pinned ? null : place;
      words.light(held(), pinned);
    },
  });
  words.show(selection);
}
