"""The built-in set `korean`: Korean and English sentences made of one meaning by a grammar, with their word alignment.

lexicon/*.txt → lexicon.py → frames.py (a meaning) → korean_side.py, english_side.py (words) → corpus.py (pairs)
"""

from jumok.data.builtin.korean.corpus import DEFAULT_SIZES, Pair, grammar_files, numbered, pair, pairs
from jumok.data.builtin.korean.words import Link, links, pieces

__all__ = ["DEFAULT_SIZES", "Link", "Pair", "grammar_files", "links", "numbered", "pair", "pairs", "pieces"]
