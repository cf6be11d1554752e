"""A translator exported to CTranslate2, in use: the same answers from another engine.

text → ids (ours) → CTranslate2's search → ids → text (ours)
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jumok.config import DecodingConfig
from jumok.data.text.pair_store import PairStore
from jumok.errors import ConfigError, MissingExtraError, RunError
from jumok.export.ctranslate2 import ids_of, names_of
from jumok.predictors.explanation import Explanation
from jumok.predictors.translator import Translator
from jumok.runs.run import Run
from jumok.tasks.pairs import Ids
from jumok.tasks.translation import Answer, Translation

SENTENCES, ROWS = (
    32,
    64,
)  # side by side, and hypotheses of them: few, so that cores have work and what they read is near


class ExportedTranslator(Translator):
    """Translate with a CTranslate2 model."""

    def __init__(self, run: Run, task: Translation, *, precision: str = "float32") -> None:
        try:
            import ctranslate2
        except ImportError:
            raise MissingExtraError("CTranslate2", "ctranslate2", f"{run.folder}") from None
        from torch import nn

        super().__init__(run, task, nn.Module())
        try:
            self.engine: Any = ctranslate2.Translator(
                str(run.folder),
                device="cpu",
                compute_type=precision,
                inter_threads=os.cpu_count() or 1,
                intra_threads=1,
            )
        except (RuntimeError, ValueError) as error:
            raise RunError(f"{run.folder}: CTranslate2 cannot read it ({error}); export it again") from None

    @property
    def limit(self) -> int:
        """The longest sequence the model can take, or 0 where there is no end."""
        return int(self.run.facts["limit"])

    @property
    def longest_source(self) -> int:
        """The most source tokens the model was made for, end token included."""
        return min(self.limit, self.task.data.max_length) if self.limit else self.task.data.max_length

    def search(
        self,
        sources: Sequence[Ids],
        *,
        options: DecodingConfig,
        prefixes: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Answer]]:
        """Return the translations of each source's ids, none of them empty, best first."""
        refuse_what_it_cannot(options, prefixes=bool(prefixes))
        names = [names_of(ids) for ids in sources]
        groups: dict[int, list[int]] = {}  # a call has one limit for all of its sentences
        for number in sorted(range(len(sources)), key=lambda number: -len(sources[number])):
            longest = options.max_length or 2 * (len(sources[number]) + 1) + 10
            groups.setdefault(min(longest, self.limit) if self.limit else longest, []).append(number)
        calls, together = [], max(min(SENTENCES, ROWS // options.beam), 1)
        for limit, numbers in groups.items():
            for first in range(0, len(numbers), together):
                chosen = numbers[first : first + together]
                waiting = self.engine.translate_batch(
                    [names[number] for number in chosen],
                    beam_size=options.beam,
                    num_hypotheses=options.n_best,
                    length_penalty=options.length_penalty,
                    min_decoding_length=0,  # its default is 1
                    max_decoding_length=limit,
                    return_scores=True,
                    asynchronous=True,  # its own threads take a call each
                )
                calls.append((chosen, limit, waiting))
        found: list[list[Answer]] = [[] for _ in sources]
        for chosen, limit, waiting in calls:
            for number, result in zip(chosen, waiting, strict=True):
                done = result.result()
                found[number] = [
                    self._write(ids_of(written), score, limit, options)
                    for written, score in zip(done.hypotheses, done.scores, strict=True)
                ]
            if progress is not None:
                progress(len(chosen))
        return found

    def _write(self, ids: list[int], score: float, limit: int, options: DecodingConfig) -> Answer:
        tokenizer, finished = self.task.target_tokenizer, len(ids) < limit
        return Answer(
            text=tokenizer.decode(ids),
            score=score,
            tokens=tokenizer.labels(ids),
            ids=ids,
            log_probability=score * (len(ids) + finished) ** options.length_penalty,
            finished=finished,
        )

    def stream(
        self,
        text: str,
        *,
        to: str = "",
        prefix: str = "",
        options: DecodingConfig | None = None,
        warn: Callable[[str], None] = lambda message: None,
    ) -> Iterator[str]:
        """Refuse: the engine hands out whole answers."""
        raise ConfigError(f"CTranslate2 shows no words while it writes; --stream needs the run itself: {self.origin}")

    def explain(self, text: str, **options: Any) -> Explanation:
        """Refuse: the engine keeps its attention to itself."""
        raise ConfigError(f"CTranslate2 shows no attention of its layers; look at the run itself: {self.origin}")

    @property
    def origin(self) -> str:
        """The run that was exported."""
        return str(self.run.facts["exported"])

    def to_dict(self) -> dict[str, Any]:
        """Return facts about the model for tables and pages."""
        parameters = self.run.facts["parameters"]
        engine = f"CTranslate2 {self.engine.compute_type}"
        return {**super().to_dict(), "parameters": parameters, "engine": engine}

    def mean_loss(self, store: PairStore) -> float:
        """Return the mean −log p of a store's target tokens."""
        scored = self.engine.score_batch(
            [names_of(store.source[number]) for number in range(len(store))],
            [names_of(store.target[number]) for number in range(len(store))],
            max_batch_size=SENTENCES,
        )
        values = [value for result in scored for value in result.log_probs]
        return -float(sum(values)) / max(len(values), 1)


def refuse_what_it_cannot(options: DecodingConfig, *, prefixes: bool = False) -> None:
    """Raise where the engine would do something else than what was asked for."""
    plain = DecodingConfig()
    for key in ("sample", "coverage_penalty", "no_repeat_ngram", "repetition_penalty", "min_length", "shortlist"):
        if getattr(options, key) != getattr(plain, key):
            raise ConfigError(f"CTranslate2 has another idea of {key}; leave it out, or use the run itself")
    if prefixes:
        raise ConfigError("CTranslate2 ranks what follows a prefix in another way; leave it out, or use the run itself")
