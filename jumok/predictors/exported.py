"""A translator exported to CTranslate2, in use: the same answers from another engine.

text → ids (ours) → CTranslate2's search → ids → text (ours)
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

from jumok.config import DecodingConfig
from jumok.data.store import PairStore
from jumok.errors import ConfigError, MissingExtraError, RunError
from jumok.export.ctranslate2 import ids_of, names_of
from jumok.predictors.translator import Translator
from jumok.run import Run
from jumok.tasks.pairs import Ids
from jumok.tasks.translation import Answer, Translation

CHUNK = 512  # sentences between two signs of progress
SENTENCES = 32  # side by side; fewer than its default, so that both cores have work and padding is small


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
    def longest_source(self) -> int:
        """The most source tokens the model was made for, end token included."""
        limit = int(self.run.facts["limit"])
        return min(limit, self.task.data.max_length) if limit else self.task.data.max_length

    def search(
        self,
        sources: Sequence[Ids],
        *,
        options: DecodingConfig,
        prefixes: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Answer]]:
        """Return the translations of each source's ids, none of them empty, best first."""
        refuse_what_it_cannot(options)
        forced = [self._target_ids(prefix) for prefix in prefixes] if prefixes else [[] for _ in sources]
        found: list[list[Answer]] = [[] for _ in sources]
        order = sorted(range(len(sources)), key=lambda number: -len(sources[number]))  # alike lengths side by side
        for first in range(0, len(order), CHUNK):
            numbers = order[first : first + CHUNK]
            longest = options.max_length or 2 * (len(sources[numbers[0]]) + 1) + 10
            results = self.engine.translate_batch(
                [names_of(sources[number]) for number in numbers],
                target_prefix=[names_of(forced[number]) for number in numbers] if prefixes else None,
                beam_size=options.beam,
                num_hypotheses=options.n_best,
                length_penalty=options.length_penalty,
                no_repeat_ngram_size=options.no_repeat_ngram,
                repetition_penalty=options.repetition_penalty,
                min_decoding_length=max(options.min_length, 1),
                max_decoding_length=longest,
                max_batch_size=SENTENCES,
                return_scores=True,
            )
            for number, result in zip(numbers, results, strict=True):
                found[number] = [
                    self._write(names, score, options)
                    for names, score in zip(result.hypotheses, result.scores, strict=True)
                ]
            if progress is not None:
                progress(len(numbers))
        return found

    def _write(self, names: Sequence[str], score: float, options: DecodingConfig) -> Answer:
        ids = ids_of(names)
        tokenizer, tokens = self.task.target_tokenizer, len(ids) + 1
        return Answer(
            text=tokenizer.decode(ids),
            score=score,
            tokens=tokenizer.labels(ids),
            ids=ids,
            log_probability=score * tokens**options.length_penalty,
            finished=True,
        )

    def mean_loss(self, store: PairStore) -> float:
        """Return the mean −log p of a store's target tokens."""
        scored = self.engine.score_batch(
            [names_of(store.source[number]) for number in range(len(store))],
            [names_of(store.target[number]) for number in range(len(store))],
            max_batch_size=SENTENCES,
        )
        values = [value for result in scored for value in result.log_probs]
        return -float(sum(values)) / max(len(values), 1)


def refuse_what_it_cannot(options: DecodingConfig) -> None:
    """Raise where the engine would not do what was asked for."""
    if options.sample:
        raise ConfigError(
            "CTranslate2 draws other random numbers than jumok; leave out --sample, or use the run itself"
        )
    if options.coverage_penalty:
        raise ConfigError(
            "CTranslate2's coverage penalty is another; leave out --coverage-penalty, or use the run itself"
        )
