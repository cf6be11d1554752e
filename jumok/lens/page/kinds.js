// Kinds of attention by plain names: who looks at whom; what the field calls them is told on hover.
import { say, translated } from "./texts.js";

// "output → source", or the stage of a model whose grids differ.
export function kindName(run, kind) {
  const stage = /^stage (\d+)$/.exec(kind);
  if (stage) return say("stage {number}", { number: stage[1] });
  if (kind === "occlusion") return say("without a stretch");
  const name = sidesOf(run, kind), others = run.kinds.filter((one) => one !== kind);
  return others.some((one) => sidesOf(run, one) === name) ? `${name} (${kind})` : name;
}

export function kindTitle(kind) {
  return {
    cross: say("cross-attention: what is written looks at what was read"),
    recurrent: say("attention of a recurrent decoder: each step looks at what was read"),
    encoder: say("self-attention of the encoder: every token looks at all tokens"),
    occlusion: say("occlusion: how the forecast changes when a stretch of the past is taken for missing"),
    decoder: say("masked self-attention of the decoder: a token looks at itself and those before it"),
  }[kind] ?? "";
}

export function sideName(side) {
  return translated(side.name);
}

function sidesOf(run, kind) {
  const map = run.maps.find((one) => one.kind === kind);
  return `${sideName(run.sides[map.queries])} → ${sideName(run.sides[map.keys])}`;
}
