// What a page says, in the viewer's language: English stands in the code, translations in the page's data.
import { find } from "./elements.js";

const REMEMBERED = "jumok-language";
const spoken = { language: "en", languages: {}, texts: {} };

// The text in the viewer's language, {name} replaced by its value. Tests find the texts by the name of this function.
export function say(english, values = {}) {
  const text = spoken.texts[spoken.language]?.[english] ?? english;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// The same for texts that Python put into the page.
export function translated(text) {
  return say(text);
}

// The page opens in the language that was chosen last, else in that which it was made for.
export function startTexts({ lang, languages, texts }) {
  const remembered = remember(() => localStorage.getItem(REMEMBERED));
  Object.assign(spoken, { languages, texts, language: languages[remembered] ? remembered : lang });
  sayPage();
}

// The button names the language that it leads to; redraw is called after the change.
export function followLanguage(redraw) {
  const codes = Object.keys(spoken.languages), button = find("language");
  const next = () => codes[(codes.indexOf(spoken.language) + 1) % codes.length];
  const name = () => {
    button.textContent = spoken.languages[next()];
    button.lang = next();
  };
  button.addEventListener("click", () => {
    spoken.language = next();
    remember(() => localStorage.setItem(REMEMBERED, spoken.language));
    sayPage();
    name();
    redraw();
  });
  name();
}

// What stands in the own HTML of a page: elements with data-say, and attributes by data-say-label and data-say-title.
function sayPage() {
  document.documentElement.lang = spoken.language;
  for (const one of document.querySelectorAll("[data-say]")) one.textContent = say(one.dataset.say);
  for (const [key, attribute] of [["sayLabel", "aria-label"], ["sayTitle", "title"]]) {
    const name = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    for (const one of document.querySelectorAll(`[data-${name}]`)) one.setAttribute(attribute, say(one.dataset[key]));
  }
}

// A page inside a frame may not keep anything.
function remember(action) {
  try {
    return action();
  } catch {
    return null;
  }
}
