// Captioners side by side on one image: each a card with its own words, which light up its own copy of the image.
import { CaptionImage } from "./caption_image.js";
import { CaptionWords } from "./caption_words.js";
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { Panel } from "./panel.js";
import { selectionOf } from "./selection.js";
import { say, translated } from "./texts.js";
import { rowOf } from "./weights.js";

export class CaptionCompare extends Panel {
  constructor(host, state, { lookOf, shownOver }) {
    super(host, state, "runs");
    Object.assign(this, { lookOf, shownOver });
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
      best ? make("p", { class: "remark", text: say("score {score}", { score: decimal(best.score) }) }) : null);
    this.#fill(card, selectionOf(run, { ...settings, kind: "", layer: 0, heads: [] }));
    return card;
  }

  // Words and image with a pointer and a pin of their own.
  #fill(card, selection) {
    let pinned = null;
    const held = () => (pinned === null ? null : { side: "query", place: pinned });
    const light = (pointed) => {
      const isWord = pointed?.side === "query";
      words.light(pointed, { pinned });
      const weights = isWord && selection.matrix ? rowOf(selection.matrix, pointed.place) : null;
      image.light(weights, { pointed: isWord ? null : pointed?.place, ...this.lookOf(selection.run) });
    };
    const pin = (place) => {
      pinned = place === pinned ? null : place;
      light(held());
    };
    const image = new CaptionImage(card, {
      point: (place) => light(place === null ? held() : { side: "key", place }), pin: () => {},
    });
    const words = new CaptionWords(card, {
      point: (place) => light(place === null ? held() : { side: "query", place }), pin,
    });
    words.show(selection);
    image.show(this.shownOver(selection));
    light(null);
    if (!selection.matrix) card.append(make("p", { class: "note", text: translated(selection.run.note) }));
  }
}
