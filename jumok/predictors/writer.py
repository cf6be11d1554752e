"""A trained language model: write on from a beginning, piece by piece, and score text.

text → ids → [decoding engine up to the window → newest half of it, read again]* → ids → text
"""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import torch

from jumok.config import DecodingConfig
from jumok.data.text.documents import TextStore
from jumok.data.text.sources import clean
from jumok.data.text.tokenizer import END, PAD, UNKNOWN
from jumok.decoding.engine import stream
from jumok.decoding.lean import lay_out
from jumok.decoding.requests import Marks, Request
from jumok.errors import ConfigError
from jumok.nn.batch import TextBatch
from jumok.nn.model import Decoder
from jumok.predictors.base import Advance, Notice, Warn, ignore_notice
from jumok.predictors.text import TextPredictor
from jumok.runs.run import Run
from jumok.tasks.base import Scores
from jumok.tasks.language_modeling import LanguageModeling

CONTEXT = 8  # tokens before a new one that its text may depend on
LENGTH = 200  # tokens written where nobody says how many
NEXT_DRAWS = 1_000_003  # added to the seed each time the window is full, so that a new stretch draws new numbers


TextDecoder = Decoder[TextBatch, Any]


class Writer(TextPredictor[LanguageModeling, TextDecoder]):
    """Write on with a run's weights."""

    verb = "generate"
    source_is = "a language model scores the text of --source alone"

    def __init__(self, run: Run, task: LanguageModeling, model: TextDecoder) -> None:
        super().__init__(run, task, model)
        lay_out(model)

    @property
    def options(self) -> DecodingConfig:
        """The recipe's own way to decode, but drawn at random: the likeliest text of all runs in circles."""
        return super().options.model_copy(update={"sample": True, "n_best": 1})

    @overload
    def generate(  # type: ignore[overload-overlap]  # a str is a sequence of them, too
        self,
        beginnings: str = "",
        *,
        max_length: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        options: DecodingConfig | None = None,
        warn: Warn = ignore_notice,
    ) -> str: ...

    @overload
    def generate(
        self,
        beginnings: Sequence[str],
        *,
        max_length: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        options: DecodingConfig | None = None,
        warn: Warn = ignore_notice,
    ) -> list[str]: ...

    def generate(
        self,
        beginnings: str | Sequence[str] = "",
        *,
        max_length: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        options: DecodingConfig | None = None,
        warn: Warn = ignore_notice,
    ) -> str | list[str]:
        """Return what the model writes after a beginning, which is left out, or a list of what follows several."""
        changes = {"max_length": max_length, "temperature": temperature, "seed": seed}
        options = (options or self.options).changed(changes)
        if isinstance(beginnings, str):
            return "".join(self.stream(beginnings, options=options, warn=warn))
        return ["".join(self.stream(beginning, options=options, warn=warn)) for beginning in beginnings]

    def stream(
        self,
        beginning: str = "",
        *,
        options: DecodingConfig | None = None,
        warn: Warn = ignore_notice,
    ) -> Iterator[str]:
        """Yield what comes after a beginning piece by piece, up to a stop text or the most tokens."""
        options = options or self.options
        line = self.read(beginning, warn=warn)
        told = len(line)  # the tokens before this one have become text, and only the rest is turned into text again
        held = ""  # text that is not shown yet, because it may become a stop text
        for token in self._tokens(line.copy(), options, warn=warn):
            line.append(token)
            text = self._text(line, told)
            if text.endswith("\N{REPLACEMENT CHARACTER}"):  # part of a character
                continue
            told, held = len(line), held + text
            cut = _find(held, options.stop)
            if cut >= 0:
                held = held[:cut]
                break
            ready = len(held) - max((_overlap(held, stop) for stop in options.stop), default=0)
            if ready:
                yield held[:ready]
                held = held[ready:]
        else:
            held += self._text(line, told)
        if held:
            yield held

    def read(self, beginning: str, *, warn: Warn = ignore_notice) -> list[int]:
        """Return the ids of a beginning; one of which the vocabulary knows nothing is refused."""
        if not beginning:
            return []
        ids = self.task.tokenizer.encode([clean(beginning, self.task.data.lowercase)])[0]
        unknown = ids.count(UNKNOWN)
        if unknown == len(ids):
            raise ConfigError(
                f"the model knows none of the characters of {beginning[:40]!r}; begin with text like its training data"
            )
        if unknown:
            warn(Notice(None, f"{unknown} of {len(ids)} tokens of the beginning are unknown to the model"))
        return ids

    def _text(self, line: list[int], first: int) -> str:
        """Return the text of a line's ids from first on, as it reads behind those before it."""
        context = line[max(first - CONTEXT, 0) : first]  # a token's text may depend on what stands before it
        return self.task.tokenizer.decode(context + line[first:])[len(self.task.tokenizer.decode(context)) :]

    def _tokens(self, known: list[int], options: DecodingConfig, *, warn: Warn) -> Iterator[int]:
        """Yield new tokens; when the window is full, the newest half of it is read again and the writing goes on."""
        window, left = self.task.window, options.max_length or LENGTH
        line = [END, *known]
        inputs = torch.zeros(1, 1, dtype=torch.int64, device=self.model.device)
        seed, said = options.seed, False
        while left > 0:
            if len(line) > window:
                if not said:
                    what = (
                        f"the text outgrows the model's window of {window} tokens: it goes on from the newest "
                        f"{max(window // 2, 1)} and has forgotten what came before"
                    )
                    warn(Notice(None, what))
                    said = True
                line = line[-max(window // 2, 1) :]
            given, room = len(line) - 1, min(left, window - len(line) + 1)
            stretch = options.model_copy(update={"max_length": given + room, "seed": seed, "min_length": 0})
            tokens = stream(
                self.model,
                Request(inputs[0], 0, prefix=line[1:]),
                collate=lambda rows: TextBatch(torch.stack(list(rows)), torch.stack(list(rows))),
                options=stretch,
                marks=Marks(line[0], END, PAD, writes_start=True),  # it may be any token of the text
            )
            count = 0
            for number, (token, _) in enumerate(tokens):
                if number >= given:
                    count += 1
                    line.append(token)
                    yield token
            left -= count
            if count < room:  # it ended by itself
                return
            seed += NEXT_DRAWS

    def score(self, store: TextStore, options: DecodingConfig, progress: Advance) -> Scores:
        """Return loss, perplexity and bits per byte and per character of a text."""
        scores = self.task.metrics(self.model, store)
        progress(len(store))
        return scores | store.counts


def _find(text: str, stops: Sequence[str]) -> int:
    """Return where the first stop text begins, or -1."""
    return min((place for place in map(text.find, stops) if place >= 0), default=-1)


def _overlap(text: str, stop: str) -> int:
    """Return how many characters at the end of text begin a stop text."""
    return next((size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0)
