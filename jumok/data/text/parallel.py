"""From a recipe's [data] to tokenizers and stores of pairs, each made once and kept in the cache.

files or built-in set → pairs of text → tokenizers (trained on train) → PairStore a corpus
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from jumok.cache import cached_folder
from jumok.config import Corpus, ParallelData, TokenizerConfig
from jumok.config.text_data import A_SET_OR_FILES
from jumok.data.corpora import Progress, Split
from jumok.data.fetch import DOWNLOADS, data_home
from jumok.data.files import content_hash
from jumok.data.store import PairStore, Part, build_pair_store
from jumok.data.text.sources import TABLES, files_of, read_pairs, tidy
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError, DataError, did_you_mean

Pairs = Iterator[tuple[str, str]]
FORMAT = 1  # of what stands in the cache; raise it when the contents change
SEED_OF_BUILT_IN = 1


def dates_pairs(split: Split, size: int) -> list[tuple[str, str]]:
    """Return pairs of the set `dates`."""
    from jumok.data.builtin import dates  # brings in Babel

    return dates.pairs(split, size, SEED_OF_BUILT_IN)


def toy_pairs(name: str) -> Callable[[Split, int], list[tuple[str, str]]]:
    """Return the maker of a toy set's pairs."""
    from jumok.data.builtin import toys

    return lambda split, size: toys.pairs(name, split, size, SEED_OF_BUILT_IN)


BUILT_IN: dict[str, Callable[[Split, int], list[tuple[str, str]]]] = {
    "dates": dates_pairs,
    "copy": toy_pairs("copy"),
    "reverse": toy_pairs("reverse"),
}


def data_folders(data: Path | None, name: str, recipe: Path | None = None) -> list[Path]:
    """Return where relative files are looked for: the given folder, JUMOK_DATA, the recipe's, here, jumok fetch's."""
    roots = [
        data,
        Path(os.environ["JUMOK_DATA"]) if os.environ.get("JUMOK_DATA") else None,
        recipe and recipe.parent,
        Path.cwd(),
    ]
    folders = []
    for root in filter(None, roots):
        folders += [root / name, root] if name else [root]
    return list(dict.fromkeys(folder.absolute() for folder in [*folders, data_home() / name if name else data_home()]))


@dataclass
class ParallelCorpora:
    """The pairs of a recipe: read, tidied, tokenised, stored."""

    data: ParallelData
    config: TokenizerConfig
    folders: Sequence[Path]
    progress: Progress = lambda what, done: None
    tokenizers: tuple[Tokenizer, Tokenizer] | None = None  # given by a run; trained otherwise

    def __post_init__(self) -> None:
        if not self.data.set and not self.data.train and self.tokenizers is None:  # an imported run has no data
            raise ConfigError(A_SET_OR_FILES)
        if self.data.set in TABLES:
            raise ConfigError(
                f"'{self.data.set}' is a table among others, with no split of its own; "
                f"write train = [{{ set = '{self.data.set}' }}, …]"
            )
        if self.data.set and self.data.set not in BUILT_IN:
            raise ConfigError(
                f"data.set = '{self.data.set}' is not a built-in set; {did_you_mean(self.data.set, BUILT_IN)}"
            )
        if self.tokenizers is not None and self.data.train:
            wanted, tags = self.data.languages, sorted(self.tokenizers[0].tags)
            if wanted != tags:
                raise ConfigError(
                    f"[data] has the target languages {', '.join(wanted) or '(none is named)'}, the given tokenizer has tags "
                    f"for {', '.join(tags) or 'none'}; start from a run with the same, or without training.init"
                )

    @cached_property
    def source_tokenizer(self) -> Tokenizer:
        """The source side's tokenizer."""
        return self._tokenizers[0]

    @cached_property
    def target_tokenizer(self) -> Tokenizer:
        """The target side's tokenizer; the source's own where shared."""
        return self._tokenizers[1]

    @cached_property
    def _tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        if self.tokenizers is not None:
            return self.tokenizers
        settings = self.config.model_dump(exclude={"dropout", "target_dropout"})  # neither changes a tokenizer
        folder = cached_folder(self._key("tokenizer", settings), self._train_tokenizers)
        source = Tokenizer.load(folder / "source.json")
        return source, source if self.config.shared else Tokenizer.load(folder / "target.json")

    def _train_tokenizers(self, folder: Path) -> None:
        def texts(sides: tuple[int, ...]) -> Iterator[str]:
            for number, pair in enumerate(pair for part in self._train_parts(tagged=False) for pair in part.pairs):
                if number % 1000 == 0:
                    self.progress("training the tokenizer", number)
                for side in sides:
                    yield tidy(pair[side], self.data.lowercase)

        sides, languages = (0, 1) if self.config.shared else (0,), self.data.languages
        Tokenizer.train(texts(sides), self.config, languages=languages).save(folder / "source.json")
        if not self.config.shared:
            Tokenizer.train(texts((1,)), self.config).save(folder / "target.json")

    @property
    def fingerprint(self) -> str:
        """What the training pairs are made of: a resumed run must find the same."""
        return self._key("data", [])

    @cached_property
    def train(self) -> PairStore:
        """All training pairs in one store."""
        weighted = any(corpus.weight != 1.0 for corpus in self.data.train)  # then the sizes of its parts matter
        return self._store("train by part" if weighted else "train", self._train_parts, keep_all=False)

    def evaluation(self, split: Split) -> dict[str, PairStore]:
        """Return each corpus of val or test by its label, nothing dropped."""
        if self.data.set:
            maker, size = BUILT_IN[self.data.set], self.data.size if split == "train" else 0
            return {self.data.set: self._store(split, lambda: [Part(maker(split, size))], keep_all=True)}
        corpora: list[Corpus] = getattr(self.data, split)
        if not corpora and split == "val":
            return {
                f"held out → {language}" if language else "held out": self._held_out(language)
                for language in self.data.languages or [""]
            }
        if not corpora:
            raise DataError(
                f"the recipe has no {split} data; add {split} = {{…}} to [data], or give --source and --target"
            )
        labels = [corpus.label for corpus in corpora]
        if len(set(labels)) < len(labels):  # val.en of two folders: their whole paths tell them apart
            labels = [corpus.full_label for corpus in corpora]
        return {label: self.corpus_store(corpus) for label, corpus in zip(labels, corpora, strict=True)}

    def corpus_store(self, corpus: Corpus) -> PairStore:
        """Return the store of one corpus, nothing dropped."""
        return self._store(
            "corpus", lambda: [self._part(corpus, read_pairs(corpus, self.folders))], keep_all=True, files=[corpus]
        )

    def _held_out(self, language: str) -> PairStore:
        def parts() -> Iterator[Part]:
            chosen = (corpus for corpus in self.data.train if corpus.to == language)
            return (self._part(corpus, self._divided(corpus, held_out=True)) for corpus in chosen)

        return self._store(f"held out → {language}" if language else "held out", parts, keep_all=True)

    def _store(
        self, what: str, parts_of: Callable[[], Iterable[Part]], *, keep_all: bool, files: list[Corpus] | None = None
    ) -> PairStore:
        made_of = [what, keep_all, self.source_tokenizer.fingerprint, self.target_tokenizer.fingerprint]

        def build(folder: Path) -> None:
            build_pair_store(
                parts_of(),
                source_tokenizer=self.source_tokenizer,
                target_tokenizer=self.target_tokenizer,
                data=self.data,
                folder=folder,
                keep_all=keep_all,
                progress=lambda done: self.progress("tokenising", done),
            )

        return PairStore.open(cached_folder(self._key("pairs", made_of, files), build))

    def _key(self, kind: str, parts: object, files: list[Corpus] | None = None) -> str:
        """Return a name that changes with everything the contents depend on."""
        # Files count by their content; whether val has any decides whether pairs are held out of train.
        data = self.data.model_dump(exclude={"val", "test", "folder", "train"}) | {"divided": not self.data.val}
        text = json.dumps([FORMAT, kind, data, parts, self._content(files)], sort_keys=True, default=str)
        return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"

    def _content(self, files: list[Corpus] | None) -> object:
        if files is None:
            return self._train_content
        found = []
        for corpus in files:
            decisive = {"source_column", "target_column"}
            decisive |= {key for key in ("swap", "to") if getattr(corpus, key)}  # a new key would make old caches anew
            found.append(
                [
                    corpus.model_dump(include=decisive),
                    Path(corpus.file).suffixes[-2:],
                    content_hash(self._paths(corpus)),
                ]
            )
        return found

    @cached_property
    def _train_content(self) -> object:
        if self.data.set:
            import babel

            return [self.data.set, babel.__version__]
        return self._content(self.data.train)

    def _paths(self, corpus: Corpus) -> list[Path]:
        try:
            return files_of(corpus, self.folders)
        except DataError as error:
            if self.data.folder in DOWNLOADS:
                raise DataError(f"{error}\nThis set has a public home: jumok fetch {self.data.folder}") from None
            raise

    def _train_parts(self, *, tagged: bool = True) -> Iterator[Part]:
        """Yield the training pairs corpus by corpus; their tags are not known before there is a tokenizer."""
        if self.data.set:
            yield Part(BUILT_IN[self.data.set]("train", self.data.size))
        for corpus in self.data.train:
            pairs = self._pairs(corpus) if self.data.val else self._divided(corpus, held_out=False)
            yield self._part(corpus, pairs) if tagged else Part(pairs)

    def _part(self, corpus: Corpus, pairs: Pairs) -> Part:
        return Part(pairs, self.source_tokenizer.tags.get(corpus.to))

    def _pairs(self, corpus: Corpus) -> Pairs:
        self._paths(corpus)
        yield from read_pairs(corpus, self.folders)

    def _divided(self, corpus: Corpus, *, held_out: bool) -> Pairs:
        """Yield the held-out pairs of a corpus or the rest; pairs with the same source always fall on the same side."""
        for pair in self._pairs(corpus):
            if (self._lot(pair[_deciding_side(corpus)]) <= self._largest_lot_held_out) == held_out:
                yield pair

    def _lot(self, source: str) -> int:
        """Return a number that looks random and depends on the source alone."""
        return int.from_bytes(hashlib.sha256(tidy(source, self.data.lowercase).encode()).digest()[:8], "big")

    @cached_property
    def _largest_lot_held_out(self) -> int:
        """The sources with the smallest lots are held out, so that there are as many pairs as wanted."""
        every = (self._lot(pair[_deciding_side(corpus)]) for corpus in self.data.train for pair in self._pairs(corpus))
        lots = np.fromiter(every, dtype=np.uint64)
        total = len(lots)
        if total < 20:
            raise DataError(f"{total} pairs are too few to hold some out for val; name val files in [data]")
        wanted = self.data.hold_out or max(min(total // 20, 1000), 1)
        if wanted >= total:
            raise ConfigError(f"data.hold_out = {wanted:,} leaves nothing of {total:,} pairs to train on")
        return int(np.partition(lots, wanted - 1)[wanted - 1])


def _deciding_side(corpus: Corpus) -> int:
    """Return the side whose text decides whether a pair is held out.

    That is the source; but a table read in both directions must not give away backwards what it holds out forwards, so
    with several target languages it is the column, or the file, that comes first by name.
    """
    if not corpus.to:
        return 0
    names = (corpus.source, corpus.target) if corpus.source else (str(corpus.source_column), str(corpus.target_column))
    return int(names[0] > names[1]) ^ corpus.swap
