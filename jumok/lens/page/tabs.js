// Views under tabs, one shown at a time; a view that is a figure can be saved.
import { make } from "./build.js";
import { save } from "./saving.js";

const find = (name) => document.getElementById(name);

// tabs are [name, title, what draws it into a host].
export function makeTabs(state, tabs) {
  const panels = {};
  for (const [name, title, draws] of tabs) {
    const tab = make("button", { role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, text: title, onclick: () => state.set({ tab: name }) });
    const host = make("section", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: -1 });
    find("tabs").append(tab);
    find("panels").append(host);
    panels[name] = draws(host);
  }
  find("tabs").addEventListener("keydown", (event) => {
    const names = Object.keys(panels), place = names.indexOf(state.choice.tab);
    const goal = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: names.length - 1 }[event.key];
    if (goal === undefined || goal < 0 || goal >= names.length) return;
    state.set({ tab: names[goal] });
    find(`tab-${names[goal]}`).focus();
    event.preventDefault();
  });
  for (const kind of ["png", "svg"]) {
    find(`save-${kind}`).addEventListener("click", () => save(panels[state.choice.tab], kind, `attention-${state.choice.tab}`));
  }
  return panels;
}

export function showTab(panels, chosen, saved) {
  for (const name of Object.keys(panels)) {
    find(`panel-${name}`).hidden = name !== chosen;
    find(`tab-${name}`).setAttribute("aria-selected", String(name === chosen));
    find(`tab-${name}`).tabIndex = name === chosen ? 0 : -1;
  }
  find("saves").hidden = !saved;
  panels[chosen].show();
}
