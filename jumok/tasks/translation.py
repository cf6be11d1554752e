"""Translation: from pairs of sentences to a loss, from a sentence to answers.

training   pair of ids, the source's tag first where there are several target languages → PairBatch → WritingTask.loss
answering  text → ids → WritingTask.answer → text
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from jumok.cache import cache_key, cached_folder
from jumok.config import DecodingConfig, PairModelConfig, ParallelData
from jumok.config.recipe import Recipe
from jumok.data.corpora import ProgressCallback
from jumok.data.files import find_file
from jumok.data.text.batching import plan_batches, refuse_too_long
from jumok.data.text.mixture import Mixture
from jumok.data.text.pair_store import PairStore
from jumok.data.text.parallel import ParallelCorpora
from jumok.data.text.sources import tidy
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError
from jumok.evaluation.text import mean_scores
from jumok.inspection.film import Shot
from jumok.nn.batch import PairBatch
from jumok.nn.model import Decoder
from jumok.tasks.base import Direction, Scores, refuse_batch_size
from jumok.tasks.pair_film import PairCamera, probes_of
from jumok.tasks.pair_survey import survey_pairs
from jumok.tasks.pairs import Ids, PairBatches, collate
from jumok.tasks.shortlist import MOST, Shortlist, learn
from jumok.tasks.survey import Survey
from jumok.tasks.word2vec import load_word2vec
from jumok.tasks.writing import WritingTask, perplexity

# B batch · S source · T target

Translates = Decoder[PairBatch, Any]


class Translation(WritingTask[Translates, PairBatch, PairStore, Ids]):
    """The task of turning one sequence of tokens into another."""

    Data = ParallelData
    Corpora = ParallelCorpora
    tokenizer_names = ("source", "target")
    filmed = True
    scores: Mapping[str, Direction] = {
        "loss": "smaller",
        "perplexity": "smaller",
        "bleu": "larger",
        "chrf": "larger",
        "exact_match": "larger",
    }
    corpora: ParallelCorpora

    def __init__(self, recipe: Recipe, corpora: ParallelCorpora) -> None:
        super().__init__(recipe, corpora)
        self.source_tokenizer = corpora.source_tokenizer

    @property
    def target_tokenizer(self) -> Tokenizer:
        """What cuts translations into tokens."""
        return self.corpora.target_tokenizer

    @classmethod
    def open(
        cls,
        recipe: Recipe,
        folders: Sequence[Path],
        *,
        tokenizers: Mapping[str, Tokenizer] | None = None,
        progress: ProgressCallback = lambda what, done: None,
    ) -> Self:
        """Return the task of a recipe; its tokenizers are trained where none are given, its data read when needed."""
        assert isinstance(recipe.data, ParallelData)
        refuse_batch_size(recipe)
        pair = None
        if tokenizers is not None:
            pair = tokenizers["source"], tokenizers["source" if recipe.tokenizer.shared else "target"]
        return cls(recipe, ParallelCorpora(recipe.data, recipe.tokenizer, folders, progress, pair))

    @property
    def data(self) -> ParallelData:
        """The recipe's [data]."""
        return self.corpora.data

    @property
    def tokenizers(self) -> dict[str, Tokenizer]:
        """The tokenizers by name, as a run keeps them."""
        return {"source": self.source_tokenizer, "target": self.target_tokenizer}

    @property
    def size(self) -> str:
        """How much there is to learn from."""
        return f"{len(self.corpora.train):,} pairs"

    def notes(self) -> list[str]:
        """Return what a user should know of the data before a run, one line each."""
        counts, mixture = self.corpora.train.counts, self.mixture
        notes = [str(counts)] if counts.dropped else []
        if mixture is not None:
            names = [f"{corpus.title} × {corpus.weight:g}" for corpus in self.data.train]
            shares = [f"{count:,} of {name}" for count, name in zip(mixture.drawn(0), names, strict=True)]
            notes.append(f"an epoch draws {sum(mixture.drawn(0)):,} pairs: {', '.join(shares)}")
        return notes

    @property
    def mixture(self) -> Mixture | None:
        """How pairs are drawn where corpora have weights; otherwise each epoch has every pair once."""
        weights = [corpus.weight for corpus in self.data.train]
        if all(weight == 1.0 for weight in weights):
            return None
        return Mixture(self.corpora.train.parts, weights, seed=self.recipe.training.seed)

    def complete(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the vocabulary sizes of the tokenizers."""
        return recipe.with_sizes(
            source_vocabulary=len(self.source_tokenizer), target_vocabulary=len(self.target_tokenizer)
        )

    def initialise(self, model: Translates) -> list[str]:
        """Start embeddings from word2vec files where the recipe names some; return what was done, one line each."""
        config = self.recipe.model
        assert isinstance(config, PairModelConfig)
        notes = []
        for side, name in (("source", config.source_embeddings), ("target", config.target_embeddings)):
            if name:
                tokenizer, table = self.tokenizers[side], model.embedding_tables[side]
                count = load_word2vec(find_file(name, self.corpora.folders), tokenizer.vocabulary, table)
                notes.append(f"{side} embeddings: {count:,} of {len(tokenizer):,} entries start from {name}")
        return notes

    def check_fits(self, model: Translates) -> None:
        """Refuse what cannot work before training starts: data past the position table, a score that is not taken."""
        super().check_fits(model)
        limit, longest = model.limit, self.longest
        if limit and longest > limit:
            raise ConfigError(
                f"the longest sentence may have {longest} tokens, but positions = 'learned' has a table of {limit}; "
                f"set model.max_positions = {longest}, or data.max_length = {limit} to leave longer pairs out"
            )

    @property
    def longest(self) -> int:
        """The longest sequence that training can meet, end token included."""
        grows = self.recipe.tokenizer.dropout or self.recipe.tokenizer.target_dropout
        return self.data.max_length if grows else int(self.corpora.train.lengths.max())

    def survey(self) -> Survey[PairBatch]:
        """Return the data at a glance, for `check`."""
        return survey_pairs(
            self.corpora.train,
            self.open_split("val"),
            tokenizers=self.tokenizers,
            config=self.recipe.tokenizer,
            batch_tokens=self.recipe.training.batch_tokens,
            seed=self.recipe.training.seed,
            built_in=bool(self.data.set),
            drawn=self.batches().drawn(0),
        )

    def batches(self) -> PairBatches:
        """Return the stream of training batches."""
        training, tokenizer, corpora = self.recipe.training, self.recipe.tokenizer, self.corpora
        refuse_too_long(corpora.train.lengths, training.batch_tokens)
        return PairBatches(
            corpora.train,
            (self.source_tokenizer, self.target_tokenizer),
            batch_tokens=training.batch_tokens,
            seed=training.seed,
            subword_dropout=(tokenizer.dropout, tokenizer.target_dropout),
            max_length=self.data.max_length,
            mixture=self.mixture,
            progress=lambda done, total: corpora.progress(f"cutting {total:,} words into other subwords", done),
        )

    def evaluate(self, model: Translates) -> Scores:
        """Return the val scores that are taken during training."""
        return self.metrics(model, self.open_split("val"), sentences=self.recipe.training.evaluate_sentences)

    def mean_loss(self, model: Translates, *stores: PairStore, batch_tokens: int = 8192) -> float:
        """Return the mean −log p of all target tokens of the stores."""
        total, count = self.total_loss(model, self._in_order(stores, limit=model.limit, batch_tokens=batch_tokens))
        return total / max(count, 1)

    def _in_order(self, stores: Sequence[PairStore], *, limit: int, batch_tokens: int) -> Iterator[PairBatch]:
        """Yield all pairs of stores once, cut to the longest sequence that a model takes."""
        for store in stores:
            lengths = np.minimum(store.lengths, limit) if limit else store.lengths
            for indices in plan_batches(lengths, batch_tokens=max(batch_tokens, int(lengths.max())), seed=0, epoch=0):
                pairs = [(store.source[i], store.target[i]) for i in indices]
                if limit:
                    pairs = [(source[: limit - 1], target[: limit - 1]) for source, target in pairs]
                yield collate(pairs)

    @property
    def languages(self) -> list[str]:
        """The target languages of a model that is told by a tag which is wanted; none where it has one direction."""
        return list(self.source_tokenizer.tags)

    def languages_of(self, store: PairStore) -> list[str]:
        """Return the target language of each pair of a store, empty where there is one direction."""
        names = {tag: language for language, tag in self.source_tokenizer.tags.items()}
        if not names:
            return [""] * len(store)
        return [names[int(tag)] for tag in store.source.ids[store.source.offsets[:-1]]]

    def read(self, texts: Sequence[str], languages: Sequence[str] = ()) -> list[Ids]:
        """Return the source ids of texts, before each the tag of the language it is to be translated to."""
        encoded = self.source_tokenizer.encode([tidy(text, self.data.lowercase) for text in texts])
        tags = [[self.source_tokenizer.tags[language]] if language else [] for language in languages]
        if tags:
            encoded = [tag + ids if ids else [] for tag, ids in zip(tags, encoded, strict=True)]
        return [np.asarray(ids, dtype=np.int64) for ids in encoded]

    def training_references(self) -> Iterable[list[list[int]]]:
        """Yield the translation of every training pair, as token ids."""
        target = self.corpora.train.target
        return ([target[number].tolist()] for number in range(len(target)))

    def prefix_ids(self, prefixes: Sequence[str]) -> list[list[int]]:
        """Return the tokens of beginnings of translations."""
        return super().prefix_ids([tidy(prefix, self.data.lowercase) for prefix in prefixes])

    def input_length(self, item: Ids) -> int:
        """Return the length of a source, its end token included."""
        return len(item) + 1

    def collate_inputs(self, model: Translates) -> Callable[[Sequence[Ids]], PairBatch]:
        """Return the function that makes an encoder's batch of sources, cut to what the model takes."""
        nothing, longest = np.empty(0, dtype=np.int64), model.limit - 1 if model.limit else None
        return lambda sources: collate([(ids[:longest], nothing) for ids in sources]).to(model.device)

    def shortlists(self, items: Sequence[Ids], each: int) -> list[Tensor]:
        """Return the target tokens worth trying for each source: learnt from the training data at the first use."""
        corpora = self.corpora

        def build(folder: Path) -> None:
            train = corpora.train
            what = f"learning which tokens go together in {min(len(train), MOST):,} pairs"
            learn(
                train,
                source_size=len(self.source_tokenizer),
                target_size=len(self.target_tokenizer),
                each=each,
                progress=lambda done: corpora.progress(what, done),
            ).save(folder)

        sides = [self.source_tokenizer.fingerprint, self.target_tokenizer.fingerprint]
        key = cache_key("shortlist", self.fingerprint, sides, each)
        shortlist = Shortlist.load(cached_folder(key, build))
        return [torch.from_numpy(shortlist.tokens(ids)) for ids in items]

    def metrics(self, model: Translates, stores: dict[str, PairStore], *, sentences: int) -> Scores:
        """Return quick scores for an evaluation during training: loss over all, greedy BLEU over some, two samples."""
        loss = self.mean_loss(model, *stores.values())
        everyone = [(store, number) for store in stores.values() for number in range(len(store))]
        languages = {store: self.languages_of(store) for store in stores.values()}
        count = min(sentences, len(everyone))
        chosen = [everyone[number * len(everyone) // count] for number in range(count)]  # evenly spread
        answers = self.answer(
            model, [store.source[i].astype(np.int64) for store, i in chosen], options=DecodingConfig(beam=1)
        )
        written, texts = [answer[0].text for answer in answers], [store.text(i) for store, i in chosen]
        scores = mean_scores(written, [target for _, target in texts], [languages[store][i] for store, i in chosen])
        samples = [
            {"source": texts[i][0], "reference": texts[i][1], "jumok": written[i]}
            for i in sorted({len(texts) // 3, 2 * len(texts) // 3})
        ]
        return {"loss": loss, "perplexity": perplexity(loss), **scores, "samples": samples}

    def camera(self, model: Translates, *, count: int) -> Callable[[Translates], tuple[Shot, ...]] | None:
        """Return what shows where a model attends in so many val pairs; None where it does not attend to the source."""
        probes = probes_of(self.open_split("val"), count=count, limit=model.limit)
        return PairCamera(self, probes) if probes and model.attends_to_source else None
