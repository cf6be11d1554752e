// Views under tabs, one shown at a time; a view that is a figure can be saved.
import { find, make } from "./elements.js";
import { saveButtons } from "./saving.js";
import { say } from "./texts.js";

// tabs are [name, makePanel(host)]; the bar of tabs and the panels are put into #views.
export function makeTabs(state, tabs) {
  const named = { "aria-label": say("views"), "data-say-label": "views" };
  const panels = {}, list = make("div", { id: "tabs", role: "tablist", ...named });
  const hosts = make("div", { id: "panels" });
  for (const [name, makePanel] of tabs) {
    const tab = { role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}` };
    const panel = { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: -1 };
    const host = make("section", panel);
    list.append(make("button", { ...tab, onclick: () => state.set({ tab: name }) }));
    hosts.append(host);
    panels[name] = makePanel(host);
  }
  list.addEventListener("keydown", (event) => {
    const names = Object.keys(panels), place = names.indexOf(state.settings.tab);
    const goal = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: names.length - 1 }[event.key];
    if (goal === undefined || goal < 0 || goal >= names.length) return;
    state.set({ tab: names[goal] });
    find(`tab-${names[goal]}`).focus();
    event.preventDefault();
  });
  const saves = saveButtons("save", () => [panels[state.settings.tab], `attention-${state.settings.tab}`]);
  find("views").append(make("div", { class: "tab-bar" }, list, saves), hosts);
  return panels;
}

function titleOf(tab) {
  return {
    compare: say("Side by side"), strip: say("Word by word"), lines: say("Lines"), map: say("Map"),
    heads: say("Heads"), steps: say("Step by step"), positions: say("Positions"), tokens: say("Tokens"),
    answers: say("Answers"), lags: say("Lags"),
  }[tab];
}

export function showTab(panels, chosen, canBeSaved) {
  for (const name of Object.keys(panels)) {
    find(`panel-${name}`).hidden = name !== chosen;
    find(`tab-${name}`).setAttribute("aria-selected", String(name === chosen));
    find(`tab-${name}`).textContent = titleOf(name);
    find(`tab-${name}`).tabIndex = name === chosen ? 0 : -1;
  }
  find("save-buttons").hidden = !canBeSaved;
  panels[chosen].show();
}
