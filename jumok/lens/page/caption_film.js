// The film of a captioner: at each step of training, where the words of a reference looked in its image.
import { meanMeasures } from "./film_frames.js";
import { startFilm } from "./film_scene.js";
import { wordPanels } from "./film_words.js";
import { say } from "./texts.js";
import { startPage } from "./unpacking.js";

function start(data, arrays) {
  startFilm(data, arrays, {
    runsName: () => say("image"),
    referenceOf: (text) => say("reference: {text}", { text }),
    scoredOn: () => say("On validation images, while the run was trained"),
    measures: measuresOf(),
    panelsOf: wordPanels,
  });
}

// Spread, and whether words look at different places: measures of the chosen heads.
function measuresOf() {
  const spread = () => say("Entropy of the weights, a mean over words and heads: 0 looks at one place, more at many");
  const apart = () => say("How much the maps of two words differ, a mean over pairs: 0 alike, 1 apart");
  const valueOf = (name) => (run, settings) => meanMeasures(run, settings)[name];
  return [
    { name: "entropy", titleOf: () => say("spread of attention"), meaningOf: spread, valueOf: valueOf("entropy") },
    { name: "apart", titleOf: () => say("words apart"), meaningOf: apart, valueOf: valueOf("apart") },
  ];
}

startPage(start);
