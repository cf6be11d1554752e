// What the films of captioners and drawers show of one step: an image, the words over it, each word's map.
import { CaptionImage } from "./caption_image.js";
import { CaptionWords } from "./caption_words.js";
import { find } from "./elements.js";
import { spokenOfCaption } from "./pointed_caption.js";
import { rowOf } from "./weights.js";
import { WordStrip } from "./word_strip.js";

export function wordPanels(state) {
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
