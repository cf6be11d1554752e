// Elements made in one line, and numbers written the same way everywhere.

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function percent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)} %`;
}

export function decimal(value, digits = 3) {
  return Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : "−∞";
}

// A choice of one among a few: radio buttons that look like one strip.
export function segments(label, name, options, value, choose) {
  const strip = make("div", { class: "strip", role: "radiogroup", "aria-label": label });
  options.forEach((option) => {
    const input = make("input", { type: "radio", name, value: String(option.value), disabled: option.disabled, onchange: () => choose(option.value) });
    input.checked = option.value === value;
    strip.append(make("label", { title: option.title }, input, make("span", { text: option.text })));
  });
  return make("div", { class: "control" }, make("span", { class: "caption", text: label, "aria-hidden": "true" }), strip);
}
