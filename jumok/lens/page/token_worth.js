// What the answer loses when each token is left out of the text: the tokens in a line, darker where more is lost.
import { css, inkOn, weightColours } from "./colour.js";
import { make } from "./elements.js";
import { decimal } from "./formats.js";
import { Panel } from "./panel.js";
import { spaced } from "./labels.js";
import { say } from "./texts.js";

export class TokenWorth extends Panel {
  constructor(host, state) {
    super(host, state, "token-worth");
  }

  show() {
    const { tokens } = this.state.run;
    if (!tokens.length) return this.showNote(say("Nothing was left out of this run's text."));
    const colours = weightColours(), most = Math.max(...tokens.map(({ lost }) => Math.abs(lost)));
    const words = tokens.map(({ token, lost }) => {
      const share = most ? Math.max(lost, 0) / most : 0;
      const style = share ? `background: ${css(colours(share))}; color: ${inkOn(share)}` : null;
      return make("span", { class: "word", style, title: token, "data-weight": share || null },
        make("span", { class: "letters", text: spaced(token) }),
        make("small", { text: `${lost > 0 ? "+" : ""}${decimal(lost, 2)}` }));
    });
    const remark = make("p", { class: "remark", text: remarkOf() });
    this.host.replaceChildren(remark, make("div", { class: "words" }, ...words));
  }
}

function remarkOf() {
  return say("What the answer's log-probability loses when a token is left out of the text; below 0 it gains.");
}
