// The film of a captioner: at each step of training, where the words of a reference looked in its image.
import { CaptionImage } from "./caption_image.js";
import { CaptionWords } from "./caption_words.js";
import { find } from "./elements.js";
import { meanMeasures } from "./film_frames.js";
import { startFilm } from "./film_scene.js";
import { spokenOfCaption } from "./pointed_caption.js";
import { say } from "./texts.js";
import { startPage } from "./unpacking.js";
import { rowOf } from "./weights.js";
import { WordStrip } from "./word_strip.js";

function start(data, arrays) {
  startFilm(data, arrays, {
    runsName: () => say("image"),
    referenceOf: (text) => say("reference: {text}", { text }),
    scoredOn: () => say("On validation images, while the run was trained"),
    measures: measuresOf(),
    panelsOf,
  });
}

function panelsOf(state) {
  const overlayOf = ({ run }) => (run.dark ? "heat" : "light");
  const image = new CaptionImage(find("patches"), {
    point: (place) => state.point("key", place), pin: (place) => state.pinKey(place),
  });
  const words = new CaptionWords(find("caption"), {
    point: (place) => state.point("query", place), pin: (place) => state.pin(place),
  });
  const strip = new WordStrip(find("strip"), state, { overlayOf, isOverImage: () => true });
  return {
    show: () => {
      image.show(state.selection);
      words.show(state.selection);
      strip.show();
    },
    light: () => {
      const { selection, pointed, pinned } = state, isWord = pointed?.side === "query";
      const weights = isWord ? rowOf(selection.matrix, pointed.place) : null;
      const look = { overlay: overlayOf(state), drawn: "smooth" };
      image.light(weights, { pointed: isWord ? null : pointed?.place, pinned: state.pinnedKey, ...look });
      words.light(pointed, { pinned });
      strip.light();
      if (pointed) find("spoken").textContent = spokenOfCaption(selection, pointed);
    },
  };
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
