"""How a text that is read as a whole is explained, be its masks filled or its class named: one row, one side.

row: [START] text [END], perhaps a second text [END] → Side → what looks at what; tokens hidden, or left out of the row
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from jumok.data.text.tokenizer import END, Tokenizer
from jumok.inspection.record import AttentionRecord
from jumok.lens.view import Side
from jumok.predictors.explaining import label_maps
from jumok.predictors.explanation import AnswerT, Explanation
from jumok.tasks.examples import Ids, pad_rows
from jumok.tasks.labels import visible_labels, word_numbers

# N variants of a text · S tokens of a row


@dataclass(frozen=True)
class TextRow:
    """A text as a model reads it: the ids of its row, and where its second text begins."""

    ids: Ids
    second: int
    tokenizer: Tokenizer

    @property
    def tokens(self) -> int:
        """Tokens of the text: all but the first and the last of the row."""
        return len(self.ids) - 2

    @property
    def ends(self) -> frozenset[int]:
        """Places of end tokens between two texts, among the tokens of the text."""
        return frozenset((np.flatnonzero(self.ids[1:-1] == END)).tolist())

    def side(self) -> Side:
        """Return the row with its labels and words."""
        ids = self.ids.tolist()
        return Side("text", tuple(visible_labels(self.tokenizer, ids)), word_numbers(self.tokenizer, ids))

    def explained(self, text: str, answer: AnswerT, record: AttentionRecord) -> Explanation[AnswerT]:
        """Return the explanation of an answer to the row, given what was recorded while it was read."""
        side = self.side()
        looking = {"": (side, side)}
        label_maps(record, looking)
        record.positions = [found.cut(side.labels) for found in record.positions]
        return Explanation(
            text,
            answer,
            record,
            source=list(side.labels[1:-1]),
            source_words=tuple(word - 1 for word in side.words[1:-1]),
            output=side,
            looking=looking,
            written=False,
            characters=self.tokenizer.kind == "character",
        )

    def padded(self, left_out: Sequence[int | None] = (None,)) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return ids (N, S), mask and segments of the row with tokens of the text left out, each in a row of its own."""
        return pad_rows([self._without(() if place is None else (place,)) for place in left_out])

    def hiding(self, hidden: AbstractSet[int]) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return ids (1, S), mask and segments of the row with tokens of the text masked as padding is: nobody sees them."""
        ids, mask, segments = self.padded()
        mask[0, [place + 1 for place in hidden]] = False
        return ids, mask, segments

    def without(self, places: AbstractSet[int]) -> "TextRow":
        """Return the row with tokens of the text left out."""
        return TextRow(*self._without(tuple(places)), self.tokenizer)

    def _without(self, places: Sequence[int]) -> tuple[Ids, int]:
        gone = np.array(places, dtype=np.int64) + 1
        return np.delete(self.ids, gone), self.second - int((gone < self.second).sum())
