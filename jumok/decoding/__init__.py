"""One search for every decoder, recurrent or Transformer: it sees token ids, logits and an opaque state."""

from jumok.decoding.engine import generate, stream
from jumok.decoding.hypotheses import Hypothesis
from jumok.decoding.requests import Marks, Request
from jumok.decoding.search import Search

__all__ = ["Hypothesis", "Marks", "Request", "Search", "generate", "stream"]
