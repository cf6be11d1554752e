// The page of drawings: those of each text side by side, with the seed of each and what a reader saw.
import { followAppearance } from "./appearance.js";
import { find, make } from "./elements.js";
import { followLanguage, say } from "./texts.js";
import { startPage } from "./unpacking.js";

function start({ drawings, run, options, given }) {
  const texts = [...new Set(drawings.map(({ text }) => text))];
  const show = () => {
    find("source").textContent = run;
    const several = () => say("drawings of {count} texts", { count: texts.length });
    find("answer").textContent = texts.length === 1 ? texts[0] : several();
    find("options").textContent = told(options, given);
    find("galleries").replaceChildren(...texts.map((text) => gallery(text, drawings, texts.length > 1)));
  };
  followAppearance(() => {});
  followLanguage(show);
  show();
}

function told(options, given) {
  const parts = Object.entries(options).map(([name, value]) => `${name} ${value}`);
  if (given) parts.push(say("the first {rows} rows of codes are given", { rows: given }));
  return parts.join(" · ");
}

function gallery(text, drawings, isNamed) {
  const own = drawings.filter((drawing) => drawing.text === text);
  const list = make("ul", { class: "drawings" }, ...own.map((drawing, place) => figure(drawing, place + 1)));
  return make("section", { class: "gallery", "aria-label": text }, isNamed ? make("h2", { text }) : null, list);
}

function figure({ text, image, seed, seen }, number) {
  const alt = say("drawing {number} of: {text}", { number, text });
  const caption = make("figcaption", {}, make("div", { class: "seed", text: say("seed {seed}", { seed }) }));
  if (seen) caption.append(make("div", { text: say("read as: {seen}", { seen }) }));
  return make("li", {}, make("figure", {}, make("img", { src: image, alt }), caption));
}

startPage(start);
