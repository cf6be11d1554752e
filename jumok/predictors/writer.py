"""A trained language model: write on from a beginning, piece by piece, explain that, and score text.

text → ids → [decoding engine up to the window → newest half of it, read again]* → ids → text
explain: one window, then one pass over all of its ids that is observed
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, overload

import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.data.text.documents import TextStore
from jumok.data.text.sources import clean
from jumok.data.text.tokenizer import END, PAD, UNKNOWN
from jumok.decoding.engine import stream
from jumok.decoding.lean import lay_out
from jumok.decoding.requests import Marks, Request
from jumok.errors import ConfigError
from jumok.inspection.ablation import Ablation
from jumok.inspection.observe import observe
from jumok.nn.batch import TextBatch
from jumok.nn.model import Decoder
from jumok.nn.threads import one_thread
from jumok.predictors.base import Advance, Notice, Warn, ignore_notice
from jumok.predictors.explaining import Look, ablation_of, weighed
from jumok.predictors.explanation import Explanation, HeadWorth
from jumok.predictors.text import TextPredictor
from jumok.predictors.writing_explaining import WrittenLine
from jumok.runs.run import Run
from jumok.tasks.base import Scores
from jumok.tasks.language_modeling import LanguageModeling
from jumok.tasks.writing import Answer, refuse_guidance

CONTEXT = 8  # tokens before a new one that its text may depend on
LENGTH = 200  # tokens written where nobody says how many
EXPLAINED = 24  # the same where they are explained: a map of more has no room in a terminal
DRAWING = frozenset({"max_length", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed"})
NEXT_DRAWS = 1_000_003  # added to the seed each time the window is full, so that a new stretch draws new numbers


TextDecoder = Decoder[TextBatch, Any]


class Writer(TextPredictor[LanguageModeling, TextDecoder]):
    """Write on with a run's weights."""

    verb = "generate"
    source_is = "a language model scores the text of --source alone"
    explains = "text"

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
        for token in self._tokens([END, *line], options, warn=warn):
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

    @one_thread()
    @torch.inference_mode()
    def explain(
        self,
        beginning: str = "",
        *,
        target: str | None = None,
        options: DecodingConfig | None = None,
        without_heads: Iterable[tuple[str, int]] = (),
        without_tokens: Iterable[int] = (),
        without_positions: bool = False,
        details: bool = False,
        warn: Warn = ignore_notice,
    ) -> Explanation[Answer]:
        """Return what the model writes after a beginning, or the given target, with the attention of every layer and head.

        It is written at full speed; then one pass over all ids is observed. Both may leave something out: heads (the path
        of a layer and a number from 0), tokens of the beginning by their places, positions. With details, maps keep the
        queries, keys and values that they were computed from.
        """
        options, line = options or self.options, self._line(beginning, warn=warn)
        found = ablation_of(
            self.model,
            heads=without_heads,
            hidden=without_tokens,
            without_positions=without_positions,
            tokens=len(line.begun) - 1,
        )
        # The keys of a decoder begin with what stands before the beginning.
        ablation = replace(found, hidden=frozenset(place + 1 for place in found.hidden), kinds=("decoder",))
        line = self._written(line, options, ablation) if target is None else self._given(line, target)
        with observe(self.model, ablation=ablation, details=details) as record:
            logits = self.model(line.batch().to(self.model.device))[0]
        return line.explained(logits, record, length_penalty=options.length_penalty)

    @one_thread()
    @torch.inference_mode()
    def importance(
        self,
        beginning: str = "",
        *,
        target: str | None = None,
        options: DecodingConfig | None = None,
        details: bool = False,
        warn: Warn = ignore_notice,
    ) -> tuple[Explanation[Answer], list[HeadWorth]]:
        """Return an explanation, and what the log-probability of its text loses without each head, the dearest first.

        The explanation's token_worth tells what it loses when each token of the beginning is left out.
        """
        explanation = self.explain(beginning, target=target, options=options, details=details, warn=warn)
        line = replace(self._line(beginning), written=explanation.answer.ids, ended=explanation.answer.finished)

        def log_probabilities(left_out: Sequence[int | None]) -> Tensor:
            return line.log_probabilities(self.model(line.batch(left_out).to(self.model.device)))

        found = weighed(explanation, self.model, log_probabilities)
        return found, list(found.worth)

    def look(self, text: str, asked: Look, *, warn: Warn = ignore_notice) -> Explanation[Answer]:
        """Return what `jumok look` shows of a beginning."""
        asked.refuse(self.run.folder, "writes on", target=True, decoding=DRAWING)
        options = self.options.changed(asked.decoding)
        if asked.importance:
            return self.importance(text, target=asked.target, options=options, details=asked.details, warn=warn)[0]
        return self.explain(text, target=asked.target, options=options, details=asked.details, warn=warn)

    def _line(self, beginning: str, *, warn: Warn = ignore_notice) -> WrittenLine:
        """Return the line of a beginning, of which as much is kept as the window has room for with a token more."""
        begun, window = [END, *self.read(beginning, warn=warn)], self.task.window
        if len(begun) > window:
            kept = max(window // 2, 1)
            what = f"the beginning has {len(begun) - 1} tokens, the model's window is {window}: only its newest {kept} are read"
            warn(Notice(None, what))
            begun = begun[-kept:]
        return WrittenLine(begun, self.task.tokenizer)

    def _written(self, line: WrittenLine, options: DecodingConfig, ablation: Ablation) -> WrittenLine:
        """Return the line with what the model writes behind it, up to the window or a stop text."""
        room = min(options.max_length or EXPLAINED, self.task.window - len(line.begun) + 1)
        stretch, written = options.model_copy(update={"max_length": room}), list[int]()
        nothing = not ablation.heads and not ablation.hidden and not ablation.without_positions
        with nullcontext() if nothing else observe(self.model, ablation=ablation, keep=False):
            for token in self._tokens(line.begun, stretch, warn=ignore_notice):
                text = self._text([*line.begun, *written, token], len(line.begun))
                if _find(text, options.stop) >= 0:
                    return replace(line, written=written or [token])
                written.append(token)
        return replace(line, written=written, ended=len(written) < room)

    def _given(self, line: WrittenLine, target: str) -> WrittenLine:
        """Return the line with a text of one's own behind it."""
        ids = self.task.tokenizer.encode([clean(target, self.task.data.lowercase)])[0]
        if not ids:
            raise ConfigError("the target is empty; give the text whose probability is asked for, or none")
        if len(line.begun) + len(ids) - 1 > self.task.window:
            raise ConfigError(
                f"the beginning and the target have {len(line.begun) + len(ids) - 1} tokens, the model's window is "
                f"{self.task.window}; shorten them"
            )
        return replace(line, written=ids)

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

    def _tokens(self, begun: list[int], options: DecodingConfig, *, warn: Warn) -> Iterator[int]:
        """Yield new tokens; when the window is full, the newest half of it is read again and the writing goes on."""
        refuse_guidance(options)
        window, left = self.task.window, options.max_length or LENGTH
        line = begun.copy()
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
            for number, (token, _) in enumerate(self.answering.each(tokens)):
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
