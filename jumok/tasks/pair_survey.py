"""The survey of pairs of sentences."""

from dataclasses import asdict

from jumok.config import TokenizerConfig
from jumok.data.store import TokenSide
from jumok.data.text.batching import largest_batch, padding_share, plan_batches
from jumok.data.text.pair_store import PairStore
from jumok.data.text.tokenizer import Tokenizer
from jumok.nn.batch import PairBatch
from jumok.tasks.held_out import pair_problems
from jumok.tasks.pairs import Ids, collate
from jumok.tasks.survey import Lengths, Problem, Survey, dropped_problem, unknown_share, vocabulary_problems

SIDES = ("source", "target")
SOME = 1000  # pairs whose sides are compared


def sides_of(store: PairStore) -> dict[str, TokenSide]:
    """Return both sides of a store by name."""
    return {"source": store.source, "target": store.target}


def survey_pairs(
    store: PairStore,
    held_out: dict[str, PairStore],
    *,
    tokenizers: dict[str, Tokenizer],
    config: TokenizerConfig,
    batch_tokens: int,
    seed: int,
    built_in: bool,
    drawn: Ids,
) -> Survey[PairBatch]:
    """Return the survey of a training store, of which an epoch draws some pairs, and its held-out ones."""
    lengths = store.lengths[drawn]
    plan = plan_batches(lengths, batch_tokens=batch_tokens, seed=seed, epoch=0)
    largest = largest_batch(lengths, plan)
    longest = lengths[largest].max(axis=0).tolist()
    survey = Survey(
        unit="pairs",
        largest_batch=collate([(store.source[i], store.target[i]) for i in drawn[largest]]),
        largest=(len(largest), *longest),
        batches_per_epoch=len(plan),
        tokens_per_epoch=int(lengths[:, 1].sum()),
        padding=padding_share(lengths, plan),
        counts={"train": asdict(store.counts)} | {label: asdict(found.counts) for label, found in held_out.items()},
        lengths={side: Lengths.of(store.lengths[:, number]) for number, side in enumerate(SIDES)},
        samples=[
            tuple(tokenizers[side].labels(list(sides_of(store)[side][number])) for side in SIDES)
            for number in (0, len(store) // 2, len(store) - 1)
        ],
        vocabularies={side: len(tokenizers[side]) for side in SIDES},
        unknown={side: unknown_share(*(sides_of(found)[side].ids for found in held_out.values())) for side in SIDES},
    )
    counts = store.counts
    survey.problems += dropped_problem(counts.read, counts.dropped, unit="pairs", why=str(counts))
    if not built_in:  # the sides of a built-in set may well be equal, its splits are apart
        survey.problems += _equal_sides(store)
        survey.problems += pair_problems(store, held_out, tags=list(tokenizers["source"].tags.values()))
    survey.problems += vocabulary_problems(survey, kind=config.kind, wanted=config.vocabulary)
    return survey


def _equal_sides(store: PairStore) -> list[Problem]:
    texts = [store.text(number) for number in range(0, len(store), max(-(-len(store) // SOME), 1))]
    same = sum(source == target for source, target in texts) / len(texts)
    if same <= 0.05:
        return []
    return [(f"about {same:.0%} of the training pairs have equal sides", "is the target file really the translation?")]
