"""The engine of a folder that was exported to CTranslate2: the same answers, searched for by that library.

ids → names of ids → CTranslate2's search → names → ids → text (ours)
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jumok.config import DecodingConfig
from jumok.data.text.pair_store import PairStore
from jumok.errors import ConfigError, MissingExtraError, RunError
from jumok.export.ctranslate2 import ids_of, names_of
from jumok.predictors.engines import PairDecoder, Prefixes, Progress, TranslationEngine
from jumok.runs.run import Run
from jumok.tasks.pairs import Ids
from jumok.tasks.translation import Translation
from jumok.tasks.writing import Answer, refuse_guidance

# Few sentences and few hypotheses per call, so that every core has work and what it reads stays in its cache.
SENTENCES, HYPOTHESES = 32, 64


class CTranslate2Engine(TranslationEngine):
    """Search with CTranslate2."""

    has_model = False

    def __init__(self, run: Run, task: Translation, *, int8: bool = False) -> None:
        try:
            import ctranslate2
        except ImportError:
            raise MissingExtraError("CTranslate2", "ctranslate2", f"{run.folder}") from None
        self.run, self.task = run, task
        with self._damaged():
            self.library: Any = ctranslate2.Translator(
                str(run.folder),
                device="cpu",
                compute_type="int8" if int8 else "float32",
                inter_threads=os.cpu_count() or 1,
                intra_threads=1,
            )

    @contextmanager
    def _damaged(self) -> Iterator[None]:
        """Turn what the library says of files that do not belong together into a sentence."""
        try:
            yield
        except (RuntimeError, ValueError) as error:
            raise RunError(f"{self.run.folder}: CTranslate2 cannot read it ({error}); export it again") from None

    @property
    def origin(self) -> str:
        """The run that was exported."""
        return str(self.run.facts["exported"])

    @property
    def model(self) -> PairDecoder:
        """Refuse: the library keeps its layers to itself."""
        raise ConfigError(f"CTranslate2 shows no attention of its layers; look at the run itself: {self.origin}")

    @property
    def limit(self) -> int:
        """The longest sequence that the exported model takes; 0: any."""
        return int(self.run.facts["limit"])

    @property
    def name(self) -> str:
        """The library, and how it stores the weights."""
        return f"CTranslate2 {self.library.compute_type}"

    @property
    def parameters(self) -> int:
        """How many parameters the exported model has."""
        return int(self.run.facts["parameters"])

    def search(
        self, sources: Sequence[Ids], *, options: DecodingConfig, prefixes: Prefixes = None, progress: Progress = None
    ) -> list[list[Answer]]:
        """Return the translations of each source's ids, best first."""
        refuse_unsupported_options(options, prefixes=bool(prefixes))
        names = [names_of(ids) for ids in sources]
        groups: dict[int, list[int]] = {}  # a call has one limit for all of its sentences
        for number in sorted(range(len(sources)), key=lambda number: -len(sources[number])):
            longest = options.max_length or 2 * (len(sources[number]) + 1) + 10
            groups.setdefault(min(longest, self.limit) if self.limit else longest, []).append(number)
        calls, together = [], max(min(SENTENCES, HYPOTHESES // options.beam), 1)
        for limit, numbers in groups.items():
            for first in range(0, len(numbers), together):
                chosen = numbers[first : first + together]
                with self._damaged():
                    waiting = self.library.translate_batch(
                        [names[number] for number in chosen],
                        beam_size=options.beam,
                        num_hypotheses=options.n_best,
                        length_penalty=options.length_penalty,
                        min_decoding_length=0,  # its default is 1
                        max_decoding_length=limit,
                        return_scores=True,
                        asynchronous=True,  # each of its own threads takes a call
                    )
                calls.append((chosen, limit, waiting))
        found: list[list[Answer]] = [[] for _ in sources]
        for chosen, limit, waiting in calls:
            for number, result in zip(chosen, waiting, strict=True):
                with self._damaged():
                    done = result.result()
                    ids = [ids_of(written) for written in done.hypotheses]
                found[number] = [
                    self._answer(written, score, limit, options)
                    for written, score in zip(ids, done.scores, strict=True)
                ]
            if progress is not None:
                progress(len(chosen))
        return found

    def _answer(self, ids: list[int], score: float, limit: int, options: DecodingConfig) -> Answer:
        tokenizer, finished = self.task.target_tokenizer, len(ids) < limit
        return Answer(
            text=tokenizer.decode(ids),
            score=score,
            tokens=tokenizer.labels(ids),
            ids=ids,
            log_probability=score * (len(ids) + finished) ** options.length_penalty,
            finished=finished,
        )

    def stream(self, source: Ids, *, options: DecodingConfig, prefix: Sequence[int] = ()) -> Iterator[int]:
        """Refuse: the library hands out whole answers."""
        raise ConfigError(f"CTranslate2 shows no words while it writes; --stream needs the run itself: {self.origin}")

    def mean_loss(self, store: PairStore) -> float:
        """Return the mean −log p of a store's target tokens."""
        scored = self.library.score_batch(
            [names_of(store.source[number]) for number in range(len(store))],
            [names_of(store.target[number]) for number in range(len(store))],
            max_batch_size=SENTENCES,
        )
        values = [value for result in scored for value in result.log_probs]
        return -float(sum(values)) / max(len(values), 1)


def refuse_unsupported_options(options: DecodingConfig, *, prefixes: bool = False) -> None:
    """Raise where CTranslate2 would do something else than the options say."""
    plain = DecodingConfig()
    refuse_guidance(options)
    for key in ("sample", "coverage_penalty", "no_repeat_ngram", "repetition_penalty", "min_length", "shortlist"):
        if getattr(options, key) != getattr(plain, key):
            raise ConfigError(f"CTranslate2 has another idea of {key}; leave it out, or use the run itself")
    if prefixes:
        raise ConfigError("CTranslate2 ranks what follows a prefix in another way; leave it out, or use the run itself")
