"""From a recipe's [data] of pairs to tokenizers and stores, each made once and kept in the cache.

files or built-in set → pairs of text → tokenizers (trained on train) → a PairStore for each corpus
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

from jumok.cache import cached_folder
from jumok.config import Corpus, ParallelData, Split, TokenizerConfig
from jumok.config.text_data import A_SET_OR_FILES
from jumok.data.builtin.examples import is_example
from jumok.data.corpora import ProgressCallback, by_title
from jumok.data.files import content_hash
from jumok.data.split import HoldOut
from jumok.data.text.pair_store import PairStore, Part, build_pair_store
from jumok.data.text.sources import TABLES, files_of, read_pairs, tidy
from jumok.data.text.tokenized import TokenizedCorpora
from jumok.data.text.tokenizer import Tokenizer
from jumok.errors import ConfigError, did_you_mean

Pairs = Iterator[tuple[str, str]]
SEED_OF_BUILT_IN = 1
MOST_HELD_OUT, LEAST_DIVIDED = 1000, 20  # pairs


def dates_pairs(split: Split, size: int) -> list[tuple[str, str]]:
    """Return pairs of the set `dates`."""
    from jumok.data.builtin import dates  # brings in Babel

    return dates.pairs(split, size, SEED_OF_BUILT_IN)


def toy_pairs(name: str) -> Callable[[Split, int], list[tuple[str, str]]]:
    """Return the maker of a toy set's pairs."""
    from jumok.data.builtin import toys

    return lambda split, size: toys.pairs(name, split, size, SEED_OF_BUILT_IN)


def korean_pairs(split: Split, size: int) -> Iterable[tuple[str, str]]:
    """Return pairs of the set `korean`, made one after the other."""
    from jumok.data.builtin import korean

    return korean.pairs(split, size, SEED_OF_BUILT_IN)


BUILT_IN: dict[str, Callable[[Split, int], Iterable[tuple[str, str]]]] = {
    "dates": dates_pairs,
    "copy": toy_pairs("copy"),
    "reverse": toy_pairs("reverse"),
    "korean": korean_pairs,
}


class ParallelCorpora(TokenizedCorpora[ParallelData, PairStore]):
    """The pairs of a recipe: read, tidied, tokenised, stored."""

    FILE_IN_RECIPE = "{…}"
    OWN_FILES = "--source and --target"

    def __init__(
        self,
        data: ParallelData,
        config: TokenizerConfig,
        folders: Sequence[Path],
        progress: ProgressCallback = lambda what, done: None,
        tokenizers: tuple[Tokenizer, Tokenizer] | None = None,
    ) -> None:
        """Take the tokenizers of source and target that a run gives, or train them."""
        super().__init__(data, config, folders, progress)
        self.tokenizers = tokenizers
        if not data.set and not data.train and tokenizers is None:  # an imported run has no data
            raise ConfigError(A_SET_OR_FILES)
        if data.set in TABLES:
            raise ConfigError(
                f"'{data.set}' is a table among others, with no split of its own; "
                f"write train = [{{ set = '{data.set}' }}, …]"
            )
        if data.set and data.set not in BUILT_IN:
            raise ConfigError(f"data.set = '{data.set}' is not a built-in set; {did_you_mean(data.set, BUILT_IN)}")
        if tokenizers is not None and data.train:
            wanted, tags = data.languages, sorted(tokenizers[0].tags)
            if wanted != tags:
                raise ConfigError(
                    f"[data] has the target languages {', '.join(wanted) or '(none is named)'}, the given tokenizer has tags "
                    f"for {', '.join(tags) or 'none'}; start from a run with the same, or without training.init"
                )

    # --- tokenizers

    @property
    def source_tokenizer(self) -> Tokenizer:
        """The source side's tokenizer."""
        return self._tokenizers[0]

    @property
    def target_tokenizer(self) -> Tokenizer:
        """The target side's tokenizer; the source's own where shared."""
        return self._tokenizers[1]

    @cached_property
    def _tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        if self.tokenizers is not None:
            return self.tokenizers
        source = Tokenizer.load(self._trained / "source.json")
        return source, source if self.config.shared else Tokenizer.load(self._trained / "target.json")

    def _train_tokenizers(self, folder: Path) -> None:
        def texts(*sides: int) -> Iterator[str]:
            pairs = (pair for part in self._train_parts(tagged=False) for pair in part.pairs)
            if self.data.without_examples:
                pairs = (pair for pair in pairs if not any(map(is_example, pair)))
            for pair in self._reported("training the tokenizer", pairs):
                for side in sides:
                    yield tidy(pair[side], self.data.lowercase)

        both = texts(0, 1) if self.config.shared else texts(0)
        Tokenizer.train(both, self.config, languages=self.data.languages).save(folder / "source.json")
        if not self.config.shared:
            Tokenizer.train(texts(1), self.config).save(folder / "target.json")

    # --- stores

    def own_store(self, corpus: Corpus) -> PairStore:
        """Return the store of one corpus, nothing dropped."""
        return self._store(
            "corpus",
            lambda: [self._part(corpus, read_pairs(corpus, self.find))],
            keep_all=True,
            content=self._content([corpus]),
        )

    def _train_store(self) -> PairStore:
        weighted = any(corpus.weight != 1.0 for corpus in self.data.train)  # then the sizes of its parts matter
        return self._store("train by part" if weighted else "train", self._train_parts, keep_all=False)

    def _built_in_stores(self, split: Split) -> dict[str, PairStore]:
        pairs, size = BUILT_IN[self.data.set], self.data.size if split == "train" else 0
        return {self.data.set: self._store(split, lambda: [Part(pairs(split, size))], keep_all=True)}

    def _file_stores(self, split: Split) -> dict[str, PairStore]:
        return by_title(self.data.files(split), self.own_store)

    def _held_out_stores(self) -> dict[str, PairStore]:
        titles = {f"held out → {language}": language for language in self.data.languages} or {"held out": ""}
        return {
            title: self._store(title, partial(self._held_out_parts, language), keep_all=True)
            for title, language in titles.items()
        }

    def _store(
        self, what: str, parts_of: Callable[[], Iterable[Part]], *, keep_all: bool, content: object = None
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

        return PairStore.open(cached_folder(self._key("pairs", made_of, content), build))

    # --- keys of the cache

    @property
    def _settings(self) -> list[object]:
        # Files count by their content; whether val has any decides whether pairs are held out of train.
        left_out = {"val", "test", "folder", "train"} | (set() if self.data.without_examples else {"without_examples"})
        data = self.data.model_dump(exclude=left_out) | {"divided": not self.data.val}
        # Runs from before there was one hash for all held out other pairs: they were not trained on these.
        return [data | {"hold_out_hash": "blake2b"} if self.data.holds_out else data]

    def _content_of_train(self) -> object:
        if self.data.set == "korean":
            from jumok.data.builtin import korean

            return [self.data.set, content_hash(korean.grammar_files())]
        if self.data.set:
            import babel

            return [self.data.set, babel.__version__]
        return self._content(self.data.train)

    def _content(self, corpora: Sequence[Corpus]) -> object:
        """Return what changes when the files of corpora, or the way they are read, do."""
        found = []
        for corpus in corpora:
            decisive = {"source_column": corpus.source_column, "target_column": corpus.target_column}
            decisive |= {"swap": True} if corpus.swap else {}  # a new key would make old caches anew
            decisive |= {"to": corpus.to} if corpus.to else {}
            decisive |= {"size": corpus.size, "split": corpus.split} if corpus.is_made else {}
            found.append([decisive, Path(corpus.file).suffixes[-2:], content_hash(files_of(corpus, self.find))])
        return found

    # --- pairs

    def _train_parts(self, *, tagged: bool = True) -> Iterator[Part]:
        """Yield the training pairs corpus by corpus; their tags are not known before there is a tokenizer."""
        if self.data.set:
            yield Part(BUILT_IN[self.data.set]("train", self.data.size))
        for corpus in self.data.train:
            pairs = self._divided(corpus, held_out=False) if self.data.holds_out else read_pairs(corpus, self.find)
            yield self._part(corpus, pairs) if tagged else Part(pairs)

    def _held_out_parts(self, language: str) -> Iterator[Part]:
        chosen = (corpus for corpus in self.data.train if corpus.to == language)
        return (self._part(corpus, self._divided(corpus, held_out=True)) for corpus in chosen)

    def _part(self, corpus: Corpus, pairs: Pairs) -> Part:
        return Part(pairs, self.source_tokenizer.tags.get(corpus.to))

    def _divided(self, corpus: Corpus, *, held_out: bool) -> Pairs:
        """Yield the held-out pairs of a corpus or the rest; pairs with the same source always fall on the same side."""
        return self._hold_out.part(
            read_pairs(corpus, self.find), lambda pair: self._deciding_text(corpus, pair), held_out=held_out
        )

    @cached_property
    def _hold_out(self) -> HoldOut:
        every = (
            self._deciding_text(corpus, pair) for corpus in self.data.train for pair in read_pairs(corpus, self.find)
        )
        return HoldOut.count(every, self.data.hold_out, most=MOST_HELD_OUT, unit="pairs", least=LEAST_DIVIDED)

    def _deciding_text(self, corpus: Corpus, pair: tuple[str, str]) -> str:
        return tidy(pair[_deciding_side(corpus)], self.data.lowercase)


def _deciding_side(corpus: Corpus) -> int:
    """Return the side whose text decides whether a pair is held out.

    That is the source; but a table read in both directions must not give away backwards what it holds out forwards, so
    with several target languages it is the column, or the file, that comes first by name.
    """
    if not corpus.to:
        return 0
    names = (corpus.source, corpus.target) if corpus.source else (str(corpus.source_column), str(corpus.target_column))
    return int(names[0] > names[1]) ^ corpus.swap
