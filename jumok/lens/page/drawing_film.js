// The film of a drawer: its drawing at each step of training, and which cells of the val image looked at which word.
import { find } from "./elements.js";
import { startFilm } from "./film_scene.js";
import { wordPanels } from "./film_words.js";
import { percent } from "./formats.js";
import { chosenHeads } from "./selection.js";
import { say } from "./texts.js";
import { startPage } from "./unpacking.js";
import { distanceBetween, headMatrix, meanOf, renormalised } from "./weights.js";

const SMALL = 100; // pixels of a side below which an image is shown pixel by pixel

function start(data, arrays) {
  startFilm(data, arrays, {
    runsName: () => say("caption"),
    referenceOf: () => "",
    scoredOn: () => say("On validation images, while the run was trained"),
    measures: measuresOf(),
    panelsOf,
  });
}

function panelsOf(state) {
  const panels = wordPanels(state);
  return {
    show: () => {
      const { run } = state, drawing = find("drawing");
      drawing.src = run.drawing;
      drawing.alt = say("what the model draws at this step");
      drawing.classList.toggle("small", Math.max(run.width, run.height) < SMALL);
      drawing.style.setProperty("--shape", `${run.width} / ${run.height}`);
      panels.show();
    },
    light: panels.light,
  };
}

// How much cells look at words at all, and whether words are looked at from different places.
function measuresOf() {
  const onWords = () => say("Share of the cells' attention that went to words, a mean over cells and heads");
  const apart = () => say("How much the maps of two words differ, a mean over pairs: 0 alike, 1 apart");
  return [
    {
      name: "on-words", titleOf: () => say("attention to words"), meaningOf: onWords,
      format: (value) => percent(value), valueOf: (run, settings) => {
        const { values, columns } = chosen(run, settings);
        return values.reduce((sum, weight) => sum + weight, 0) / columns;
      },
    },
    {
      name: "apart", titleOf: () => say("words apart"), meaningOf: apart,
      valueOf: (run, settings) => distanceBetween(renormalised(chosen(run, settings))),
    },
  ];
}

// The mean of the chosen layers and heads (tokens × cells).
function chosen(run, { layer, heads }) {
  const maps = layer ? [run.maps[layer - 1]] : run.maps;
  return meanOf(maps.flatMap((map) => chosenHeads(map, heads).map((head) => headMatrix(map, head))));
}

startPage(start);
