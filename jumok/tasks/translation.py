"""Translation: from pairs of sentences to a loss, from a sentence to answers.

training   pair of ids, the source's tag first where there are several target languages → PairBatch → model.features → vocabulary loss at real target positions
answering  text → ids → model.encode → decoding engine → ids → text
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from jumok.cache import cached_folder
from jumok.config import DecodingConfig, ParallelData
from jumok.config.recipe import Recipe
from jumok.data.corpora import Progress
from jumok.data.files import find_file
from jumok.data.store import PairStore
from jumok.data.text.batching import plan_batches, refuse_too_long
from jumok.data.text.mixture import Mixture
from jumok.data.text.parallel import ParallelCorpora
from jumok.data.text.sources import tidy
from jumok.data.text.tokenizer import END, PAD, START, Tokenizer
from jumok.decoding.engine import generate
from jumok.decoding.hypotheses import Hypothesis
from jumok.decoding.requests import Marks, Request
from jumok.errors import ConfigError
from jumok.evaluation.text import mean_scores
from jumok.inspection.observe import observe
from jumok.inspection.record import mean_over_heads
from jumok.nn.batch import PairBatch
from jumok.nn.model import Decoder
from jumok.tasks.base import Task, refuse_batch_size
from jumok.tasks.losses import Loss, vocabulary_loss
from jumok.tasks.pair_survey import survey_pairs
from jumok.tasks.pairs import Ids, PairBatches, collate
from jumok.tasks.scheduled import sampled_logits, teacher_forcing_ratio
from jumok.tasks.shortlist import MOST, Shortlist, learn
from jumok.tasks.survey import Survey
from jumok.tasks.word2vec import load_word2vec

# B batch · S source · T target


@dataclass(frozen=True)
class Answer:
    """One translation."""

    text: str
    score: float
    tokens: list[str]
    ids: list[int]
    log_probability: float
    finished: bool  # False where it was cut at the longest length allowed


class Translation(Task):
    """The task of turning one sequence of tokens into another."""

    Data = ParallelData
    unit = "target tokens"
    scores = ("loss", "perplexity", "bleu", "chrf", "exact_match")
    corpora: ParallelCorpora

    def __init__(self, recipe: Recipe, corpora: ParallelCorpora) -> None:
        self.recipe, self.corpora = recipe, corpora
        self.source_tokenizer, self.target_tokenizer = corpora.source_tokenizer, corpora.target_tokenizer

    @classmethod
    def open(
        cls,
        recipe: Recipe,
        folders: Sequence[Path],
        *,
        tokenizers: Mapping[str, Tokenizer] | None = None,
        progress: Progress = lambda what, done: None,
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
        """Return what a user should know of the data before a run, a line each."""
        counts, mixture = self.corpora.train.counts, self.mixture
        notes = [str(counts)] if counts.dropped else []
        if mixture is not None:
            names = [f"{corpus.label} × {corpus.weight:g}" for corpus in self.data.train]
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

    def initialise(self, model: nn.Module) -> list[str]:
        """Start embeddings from word2vec files where the recipe names some; return what was done, a line each."""
        sides = [("source", self.source_tokenizer), ("target", self.target_tokenizer)]
        notes = []
        for side, tokenizer in sides:
            name = getattr(self.recipe.model, f"{side}_embeddings", "")
            if name:
                table = getattr(model, f"embed_{side}").table
                count = load_word2vec(find_file(name, self.corpora.folders), tokenizer.vocabulary, table)
                notes.append(f"{side} embeddings: {count:,} of {len(tokenizer):,} entries start from {name}")
        return notes

    def check_fits(self, model: nn.Module) -> None:
        """Refuse what cannot work before training starts: data past the position table, a score that is not taken."""
        super().check_fits(model)
        training = self.recipe.training
        sampling = training.teacher_forcing < 1.0 or training.teacher_forcing_decay > 0.0
        if sampling and not getattr(model, "differentiable_steps", False):
            raise ConfigError(
                f"training.teacher_forcing = {training.teacher_forcing:g} with a decay of "
                f"{training.teacher_forcing_decay:g} feeds a model its own tokens, step by step, and "
                f"'{self.recipe.model.name}' cannot be trained through its steps; set teacher_forcing = 1 and "
                "teacher_forcing_decay = 0, or model.name = 'seq2seq'"
            )
        limit, longest = int(getattr(model, "limit", 0)), self.longest
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

    def survey(self) -> Survey:
        """Return the data at a glance, for the doctor."""
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

    def evaluate(self, model: nn.Module) -> dict[str, Any]:
        """Return the val scores that are taken during training."""
        return self.metrics(model, self.open_split("val"), sentences=self.recipe.training.evaluate_sentences)

    def loss(self, model: nn.Module, batch: PairBatch, step: int) -> Loss:
        """Return the summed loss over the batch's target tokens; smoothed in training only."""
        training = self.recipe.training
        smoothing = training.label_smoothing if model.training else 0.0
        ratio = teacher_forcing_ratio(step, training) if model.training else 1.0
        if ratio < 1.0:
            logits = sampled_logits(model, batch, ratio)[batch.target_mask].float()  # (N, V)
            targets = batch.targets[batch.target_mask]
            total = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
            plain = F.cross_entropy(logits.detach(), targets, reduction="sum")
            return Loss(total, len(targets), {"nll": float(plain)})
        features = model.features(batch)[batch.target_mask]  # type: ignore[operator]  # (N, D)
        total, plain = vocabulary_loss(features, model.project, batch.targets[batch.target_mask], smoothing=smoothing)  # type: ignore[arg-type]
        return Loss(total, len(features), {"nll": float(plain)})

    @torch.inference_mode()
    def mean_loss(self, model: nn.Module, *stores: PairStore, batch_tokens: int = 8192) -> float:
        """Return the mean −log p of all target tokens of the stores."""
        total, count = 0.0, 0
        limit = int(getattr(model, "limit", 0))
        device = next(model.parameters()).device
        for store in stores:
            lengths = np.minimum(store.lengths, limit) if limit else store.lengths
            for indices in plan_batches(lengths, batch_tokens=max(batch_tokens, int(lengths.max())), seed=0, epoch=0):
                pairs = [(store.source[i], store.target[i]) for i in indices]
                if limit:
                    pairs = [(source[: limit - 1], target[: limit - 1]) for source, target in pairs]
                loss = self.loss(model, collate(pairs).to(device), 0)
                total, count = total + float(loss.total), count + loss.count
        return total / max(count, 1)

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

    def answer(
        self,
        model: nn.Module,
        sources: Sequence[Ids],
        *,
        options: DecodingConfig,
        prefixes: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Answer]]:
        """Return the translations of each source's ids, best first."""
        forced = self.target_tokenizer.encode([tidy(p, self.data.lowercase) for p in prefixes]) if prefixes else None
        limit = int(getattr(model, "limit", 0))
        shortlists = self.shortlists(model, sources, options.shortlist) if options.shortlist else None
        requests = [
            Request(
                ids[: limit - 1] if limit else ids,
                len(ids) + 1,
                prefix=forced[number] if forced else (),
                shortlist=shortlists[number] if shortlists else None,
            )
            for number, ids in enumerate(sources)
        ]
        found = generate(
            model,  # type: ignore[arg-type]
            requests,
            collate=self.source_batch(model),
            options=options,
            marks=Marks(START, END, PAD),
            progress=progress,
            observed_extend=covering(model) if options.coverage_penalty else None,
        )
        return [[self.write(hypothesis) for hypothesis in hypotheses] for hypotheses in found]

    def shortlists(self, model: nn.Module, sources: Sequence[Ids], each: int) -> list[Tensor]:
        """Return the target tokens worth trying for each source: learnt from the training data at the first use."""
        if not (isinstance(model, Decoder) and model.restrictable):
            raise ConfigError(
                f"decoding.shortlist: '{self.recipe.model.name}' always tries its whole vocabulary; set 0"
            )
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

        key = f"shortlist-{self.fingerprint.rpartition('-')[2]}-{each}"
        shortlist = Shortlist.load(cached_folder(key, build))
        return [torch.from_numpy(shortlist.tokens(ids)) for ids in sources]

    def source_batch(self, model: nn.Module) -> Callable[[Sequence[Ids]], PairBatch]:
        """Return the function that makes an encoder's input of sources."""
        device = next(model.parameters()).device
        nothing = np.empty(0, dtype=np.int64)
        return lambda sources: collate([(ids, nothing) for ids in sources]).to(device)

    def write(self, hypothesis: Hypothesis) -> Answer:
        """Return a hypothesis as text."""
        ids, tokenizer = hypothesis.tokens, self.target_tokenizer
        return Answer(
            text=tokenizer.decode(ids),
            score=hypothesis.score,
            tokens=tokenizer.labels(ids),
            ids=ids,
            log_probability=hypothesis.log_probability,
            finished=hypothesis.finished,
        )

    def metrics(self, model: nn.Module, stores: dict[str, PairStore], *, sentences: int) -> dict[str, Any]:
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
        return {"loss": loss, "perplexity": float(np.exp(min(loss, 50.0))), **scores, "samples": samples}


def covering(model: nn.Module) -> Callable[[Tensor, Any], tuple[Tensor, Any, Tensor]] | None:
    """Return an extend that also tells where the model looked in the source: (R, n, S), the mean of layers and heads."""
    if not model.attends_to_source:
        return None

    def extend(tokens: Tensor, state: Any) -> tuple[Tensor, Any, Tensor]:
        with observe(model) as record:
            logits, state = model.extend(tokens, state)  # type: ignore[operator]
        return logits, state, mean_over_heads(record.of_kind("cross") or record.of_kind("recurrent"))

    return extend
