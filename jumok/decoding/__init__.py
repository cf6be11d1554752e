"""One search for every decoder, recurrent or Transformer: it sees token ids, logits and an opaque state."""

from jumok.decoding.engine import generate, stream
from jumok.decoding.hypotheses import Hypothesis

__all__ = ["Hypothesis", "generate", "stream"]
