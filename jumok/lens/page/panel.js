// What the views under the tabs share: an element of their own, the state they show, a note where they have nothing.
import { make } from "./elements.js";

export class Panel {
  constructor(host, state, name) {
    this.state = state;
    this.host = make("div", { class: name });
    host.append(this.host);
  }

  // Draw what the viewer has chosen.
  show() {}

  // Light up what the viewer points at.
  light() {}

  showNote(text) {
    this.host.replaceChildren(make("p", { class: "note", text }));
  }
}
