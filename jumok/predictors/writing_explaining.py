"""How what a language model wrote is explained: a line of tokens, each chosen while the model looked at those before it.

[END] beginning written → one pass under observe → queries: the tokens chosen; keys: the tokens read by then
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from jumok.data.text.tokenizer import END, Tokenizer
from jumok.inspection.record import AttentionRecord
from jumok.lens.view import Side
from jumok.nn.batch import TextBatch
from jumok.predictors.explaining import label_maps
from jumok.predictors.explanation import Explanation, choices_of
from jumok.tasks.labels import visible_labels, word_numbers
from jumok.tasks.writing import Answer

# N variants of a text · T tokens · m written tokens · V vocabulary


@dataclass(frozen=True)
class WrittenLine:
    """What was read at first, an end token before it, and what was written behind it."""

    begun: list[int]
    tokenizer: Tokenizer
    written: list[int] = field(default_factory=list)
    ended: bool = False  # whether the model ended the text by itself

    @property
    def chosen(self) -> list[int]:
        """The tokens whose probability is asked for: what was written, and its end."""
        return [*self.written, END] if self.ended else self.written

    def labels(self, ids: Sequence[int]) -> list[str]:
        """Return a name for each id that fits a line."""
        return visible_labels(self.tokenizer, ids)

    def batch(self, left_out: Sequence[int | None] = (None,)) -> TextBatch:
        """Return the lines with tokens of the beginning left out, each in a row of its own."""
        lines = [[*self._without(place), *self.chosen] for place in left_out]
        ids = torch.tensor(lines)
        return TextBatch(ids[:, :-1], ids[:, 1:])

    def _without(self, place: int | None) -> list[int]:
        return self.begun if place is None else self.begun[: place + 1] + self.begun[place + 2 :]

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """Return the log-probability (N,) of the chosen tokens, given logits (N, T, V)."""
        chosen = torch.tensor(self.chosen, device=logits.device)
        found = logits[:, -len(chosen) :].float().log_softmax(dim=-1)  # (N, m, V)
        return found.gather(2, chosen[None, :, None].expand(len(found), -1, -1)).sum(dim=(1, 2))

    def explained(self, logits: Tensor, record: AttentionRecord, *, length_penalty: float = 1.0) -> Explanation[Answer]:
        """Return the explanation of the line, given its logits (T, V) and what was recorded."""
        line = [*self.begun, *self.chosen]
        labels, words = self.labels(line), word_numbers(self.tokenizer, line)
        chosen = Side("text", tuple(labels[1:]), tuple(word - words[1] for word in words[1:]))
        read = Side("text so far", tuple(labels[:-1]), tuple(words[:-1]))
        looking = {"": (chosen, read)}
        label_maps(record, looking)
        record.positions = [found.cut(read.labels) for found in record.positions]
        known, total = len(self.begun) - 1, float(self.log_probabilities(logits[None])[0])
        answer = Answer(
            self.tokenizer.decode([*self.begun, *self.written])[len(self.tokenizer.decode(self.begun)) :],
            total / len(self.chosen) ** length_penalty,
            self.labels(self.written),
            self.written,
            total,
            self.ended,
        )
        return Explanation(
            self.tokenizer.decode(self.begun[1:]),
            answer,
            record,
            source=labels[1 : known + 1],
            source_words=chosen.words[:known],
            output=chosen,
            looking=looking,
            choices=(*[None] * known, *choices_of(logits[known:], self.chosen, self.labels)),
            characters=self.tokenizer.kind == "character",
        )
