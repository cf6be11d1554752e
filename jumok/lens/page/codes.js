// The page of image codes put together: three images whose cells are the codes, and what is told of one.
import { followAppearance } from "./appearance.js";
import { radios } from "./controls.js";
import { digitsOf, nameOfCell, placeOfCell, usesOf } from "./code_cells.js";
import { find, make } from "./elements.js";
import { decimal, percent } from "./formats.js";
import { followLanguage, say } from "./texts.js";
import { startPage } from "./unpacking.js";
import { listenToPlaces } from "./walking.js";

const SMALL = 200; // pixels of a side below which an image is shown pixel by pixel
const FEW = 12; // images that stand side by side as choices; more are a list

function start(data) {
  const { views, several } = data;
  let chosen = 0, pointed = null, pinned = null, grids = [];
  const view = () => views[chosen];
  const now = () => pointed ?? pinned;

  const show = () => {
    const { source, name, rows, columns, psnr, ssim, count, codes } = view();
    find("source").textContent = [name, source].filter(Boolean).join(" · ");
    find("answer").textContent = say("{rows} × {columns} codes", { rows, columns });
    const values = { psnr: decimal(psnr, 1), ssim: decimal(ssim), different: new Set(codes).size, count };
    find("reference").textContent = say("PSNR {psnr} dB · SSIM {ssim} · {different} of {count} codes", values);
    showChoice(views, { several, chosen, choose });
    grids = [
      grid(say("the image"), view().image), grid(say("what its codes tell"), view().seen),
      grid(say("the codes"), null),
    ];
    find("images").replaceChildren(...grids.map(({ figure }) => figure));
    light();
  };
  const choose = (place) => {
    chosen = place;
    pointed = pinned = null;
    show();
  };
  // One of the three: an image, or without one the colours of codes, with a cell for each code.
  const grid = (title, image) => {
    const { rows, columns, colours, codes, side } = view();
    const places = codes.map((code, place) => make("span", {
      class: "patch", role: "gridcell", tabindex: place ? -1 : 0, "data-place": place, "aria-selected": "false",
      "aria-label": nameOfCell(view(), place), ...(image ? {} : { style: `background: ${colours[place]}` }),
    }));
    const lines = Array.from({ length: rows }, (_, row) => (
      make("div", { role: "row" }, ...places.slice(row * columns, (row + 1) * columns))));
    const cells = make("div", { class: "cells", role: "grid", "aria-label": title }, ...lines);
    cells.style.gridTemplate = `repeat(${rows}, 1fr) / repeat(${columns}, 1fr)`;
    const looks = { class: side < SMALL ? "small" : "" };
    const picture = image && make("img", { src: image, alt: "", draggable: "false", ...looks });
    const frame = make("div", { class: "image", style: "aspect-ratio: 1" }, picture, cells);
    frame.addEventListener("pointerleave", () => point(null));
    listenToPlaces(cells, { places: () => places, point, pin, goalOf: goalIn(rows, columns) });
    const figure = make("figure", {}, frame, make("figcaption", { text: title }));
    return { figure, places, hasImage: Boolean(image) };
  };
  const point = (place) => {
    if (place === pointed) return;
    pointed = place;
    light();
  };
  const pin = (place) => {
    pinned = place === pinned ? null : place;
    light();
  };
  const light = () => {
    const { codes } = view(), place = now(), code = place === null ? null : codes[place];
    for (const { places, hasImage } of grids) {
      places.forEach((cell, number) => {
        const isSame = code !== null && codes[number] === code;
        cell.classList.toggle("same", isSame && number !== place);
        cell.classList.toggle("other", hasImage && code !== null && !isSame);
        cell.classList.toggle("pointed", number === place);
        cell.classList.toggle("pinned", number === pinned);
        cell.setAttribute("aria-selected", String(number === pinned));
      });
    }
    find("pointed").replaceChildren(...(place === null ? [hint()] : told(view(), place, views)));
    find("spoken").textContent = place === null ? "" : find("pointed").innerText;
  };
  followAppearance(light);
  followLanguage(show);
  show();
}

function hint() {
  return make("p", { text: say("Point at a cell: its code, and where else the image has the same one.") });
}

// What is known of the code of a cell: its number, its digits, its uses, and the cell in both images.
function told(view, place, views) {
  const { codes, levels, image, seen } = view, code = codes[place], here = usesOf(view, code);
  const values = { uses: here.length, cells: codes.length, share: percent(here.length / codes.length) };
  const uses = [make("p", { text: say("in this image: {uses} of {cells} cells, {share}", values) })];
  const fellows = views.filter((other) => other.name === view.name);
  if (fellows.length > 1) {
    const images = fellows.filter((other) => other.codes.includes(code)).length;
    uses.push(make("p", { text: say("in {images} of the {all} images here", { images, all: fellows.length }) }));
  }
  const digits = digitsOf(code, levels).map(({ digit, level }, number) => (
    make("p", { class: "code-digit" },
      make("span", { text: say("digit {number}", { number: number + 1 }) }),
      make("span", { class: "digit-bar", "aria-hidden": "true", style: `--share: ${percent(digit / (level - 1))}` }),
      make("span", { text: say("{digit} of 0–{last}", { digit, last: level - 1 }) }))));
  return [
    make("div", {}, make("h3", { text: say("code {code}", { code }) }),
      make("p", { text: placeOfCell(view, place) }), ...uses),
    digits.length ? make("div", {}, ...digits) : null,
    cut(view, place, image, say("the image")), cut(view, place, seen, say("what its codes tell")),
  ].filter(Boolean);
}

// A cell cut out of an image.
function cut({ rows, columns }, place, image, title) {
  const shift = (at, of) => (of > 1 ? `${(100 * at) / (of - 1)}%` : "0%");
  const style = `--image: url("${image}"); background-size: ${100 * columns}% ${100 * rows}%; background-position: `
    + `${shift(place % columns, columns)} ${shift(Math.floor(place / columns), rows)}`;
  return make("div", {}, make("div", { class: "cut", style }), make("p", { text: title }));
}

function showChoice(views, { several, chosen, choose }) {
  if (views.length < 2) return;
  const titleOf = ({ name, source }) => [several && name, source].filter(Boolean).join(" · ");
  const options = views.map((view, value) => ({ value, text: titleOf(view) || String(value + 1) }));
  if (views.length <= FEW) {
    const told = { name: "image", options, value: chosen, choose: ({ image }) => choose(image) };
    find("controls").replaceChildren(radios(say("image"), told));
    return;
  }
  const list = make("select", { class: "list", "aria-label": say("image") },
    ...options.map(({ value, text }) => make("option", { value, text })));
  list.value = chosen;
  list.addEventListener("change", () => choose(Number(list.value)));
  find("controls").replaceChildren(list);
}

// Where a key leads from a cell; the grid's edges hold.
function goalIn(rows, columns) {
  return (key, place) => {
    const column = place % columns;
    const goal = {
      ArrowRight: column + 1 < columns ? place + 1 : place, ArrowLeft: column ? place - 1 : place,
      ArrowUp: place - columns, ArrowDown: place + columns,
      Home: place - column, End: place - column + columns - 1,
    }[key];
    return goal < 0 || goal >= rows * columns ? place : goal;
  };
}

startPage(start);
