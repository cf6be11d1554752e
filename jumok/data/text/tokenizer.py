"""Text to token ids and back. Hugging Face `tokenizers` does the work; jumok decides how it is set up.

texts → Tokenizer.train → tokenizer.json → encode → ids → decode → text
Special ids are never made from text: a sentence that contains "[END]" is split like any other, because the file
registers no special tokens with the library; models put START and END in themselves. Behind them stand the tags of
target languages, such as [→ko], of a model that has several; tasks put them in.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

from jumok.config import TokenizerConfig
from jumok.data.text.character_map import check_character_maps
from jumok.errors import ConfigError, DataError, RunError
from jumok.reading import Refuse, json_of, read_text, what_is_wrong

PAD, UNKNOWN, START, END = 0, 1, 2, 3
SPECIALS = ("[PAD]", "[UNK]", "[START]", "[END]")
TAG = re.compile(r"\[→([A-Za-z][A-Za-z0-9-]*)\]")
SPACE = "▁"  # marks a space inside a token, as in SentencePiece
PROBE = "a \ue000"  # the second is in no vocabulary: a tokenizer without an unknown token would fail at it later
_BYTES = 256


def _byte_letters() -> dict[str, int]:
    """Return the letter that stands for each byte in a byte-level token (GPT-2's table)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(_BYTES) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(_BYTES + i): byte for i, byte in enumerate(hidden)}


BYTE_OF_LETTER = _byte_letters()


class Tokenizer:
    """A trained vocabulary. Equal texts give equal vocabularies, byte for byte."""

    def __init__(self, content: str) -> None:
        """Wrap the content of a tokenizer.json; `read` is for one that may be damaged."""
        self._content = content
        parsed = json_of(content)
        check_character_maps(parsed.get("normalizer"))
        self._library = Library.from_str(content)
        self.kind = _kind(parsed)
        self.fingerprint = hashlib.sha256(content.encode()).hexdigest()
        ordered = sorted(self._library.get_vocab().items(), key=itemgetter(1))
        if len(ordered) < len(SPECIALS):
            raise ValueError(f"it has fewer than the {len(SPECIALS)} special tokens")
        if [number for _, number in ordered] != list(range(len(ordered))):
            raise ValueError(f"its {len(ordered):,} tokens are not numbered from 0 to {len(ordered) - 1:,}")
        spelt = [token for token, _ in ordered[len(SPECIALS) :]]
        tags = list(takewhile(bool, (_language(token, self.kind) for token in spelt)))
        if self.kind in ("bpe", "byte") and not set().union(*spelt[len(tags) :]) <= BYTE_OF_LETTER.keys():
            raise ValueError("its tokens have letters that stand for no byte")
        self.tags = {language: number for number, language in enumerate(tags, start=len(SPECIALS))}
        self.reserved = len(SPECIALS) + len(tags)  # the ids below are never made from text
        self._tokens = [*SPECIALS, *map(tag_of, tags), *spelt[len(tags) :]]

    @classmethod
    def train(cls, texts: Iterable[str], config: TokenizerConfig, *, languages: Sequence[str] = ()) -> Self:
        """Return a tokenizer whose vocabulary suits texts, with a tag for each of the target languages."""
        reserved = (*SPECIALS, *map(tag_of, languages))
        if config.kind == "bpe" and config.vocabulary < len(reserved) + _BYTES:
            raise _too_small(config, len(reserved) + _BYTES, reserved)
        library, trainer = _SETUPS[config.kind](config, list(reserved))
        library.train_from_iterator(_blocks(texts, config, reserved), trainer)
        content = json.loads(library.to_str())
        content["added_tokens"] = []  # else the library would find special tokens inside text
        if config.kind == "unigram":
            _make_unigram_reproducible(content["model"], len(reserved))
        return cls(json.dumps(content, ensure_ascii=False))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the tokenizer saved at path."""
        if not path.exists():
            raise RunError(
                f"{path} is missing; a run's folder needs its tokenizer. Copy it from where the run was made."
            )
        return cls.read(read_text(path, _damaged), str(path), _damaged)

    @classmethod
    def read(cls, content: str, place: str, refuse: Refuse) -> Self:
        """Return the tokenizer of a foreign tokenizer.json, which may be damaged; place is what messages call it."""
        try:
            tokenizer = cls(content)
            tokenizer.decode(tokenizer.encode([PROBE])[0])
            tokenizer.encode_words([PROBE])
        except BaseException as error:  # the library raises bare Exceptions, and panics, which are none
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise refuse(place, what_is_wrong(error)) from None
        return tokenizer

    def save(self, path: Path) -> None:
        """Write the tokenizer as a Hugging Face tokenizer.json."""
        Path(path).write_text(self._content, encoding="utf-8")

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self._content,)

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def vocabulary(self) -> dict[str, int]:
        """The id of each token, as the library spells tokens."""
        return {token: index for index, token in enumerate(self._tokens)}

    @property
    def content(self) -> str:
        """The whole tokenizer as a Hugging Face tokenizer.json has it."""
        return self._content

    @property
    def model(self) -> dict[str, Any]:
        """The library's own description of the vocabulary: merges of a BPE, scores of a unigram model."""
        content: dict[str, Any] = json.loads(self._content)["model"]
        return content

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without special tokens, on all cores."""
        return [encoding.ids for encoding in self._library.encode_batch_fast(list(texts), add_special_tokens=False)]

    def encode_words(self, texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
        """Return for each text its ids and, for each id, the number of the word it belongs to."""
        encodings = self._library.encode_batch(list(texts), add_special_tokens=False)
        return [(encoding.ids, [word or 0 for word in encoding.word_ids]) for encoding in encodings]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special ones and tags left out."""
        text: str = self._library.decode([int(index) for index in ids if index >= self.reserved])
        return text

    def labels(self, ids: Sequence[int]) -> list[str]:
        """Return a readable name for each id: spaces as ▁, bytes of unfinished characters as <EC>."""
        return [self._label(int(index)) for index in ids]

    def words(self, ids: Sequence[int]) -> list[int]:
        """Return the number of the word that each id belongs to, counted from 0; a space begins a word, and so does a special."""
        numbers: list[int] = []
        before, special_before = "", False
        for index in ids:
            label, special = self._label(int(index)), int(index) < self.reserved
            whole = self.kind == "word" or special
            whole = whole or (self.kind == "wordpiece" and not label.startswith("##"))
            begins = not numbers or whole or special_before or (label.startswith(SPACE) and before != SPACE)
            numbers.append((numbers[-1] if numbers else -1) + begins)
            before, special_before = label, special
        return numbers

    def _label(self, index: int) -> str:
        token = self._tokens[index]
        if self.kind not in ("bpe", "byte") or index < self.reserved:
            return token.replace(" ", SPACE)
        raw = bytes(BYTE_OF_LETTER[letter] for letter in token)
        try:
            return raw.decode("utf-8").replace(" ", SPACE)
        except UnicodeDecodeError:
            return "".join(SPACE if byte == 0x20 else chr(byte) if byte < 0x7F else f"<{byte:02X}>" for byte in raw)


def _damaged(place: str, why: str) -> RunError:
    return RunError(f"{place} is damaged ({why}); restore it from a copy, or train again.")


def tag_of(language: str) -> str:
    """Return how the tag of a target language is shown."""
    return f"[→{language}]"


def _language(token: str, kind: str) -> str:
    """Return the target language that a token of the library stands for, or nothing."""
    if kind == "unigram":  # its special tokens are respelt with a space, which no piece of text holds
        token = token[:-1] if token.endswith(" ") else ""
    found = TAG.fullmatch(token)
    return found[1] if found else ""


def _blocks(texts: Iterable[str], config: TokenizerConfig, reserved: Sequence[str]) -> Iterator[list[str]]:
    """Yield texts in blocks, which is quicker, and refuse what no trainer can use."""
    letters: set[str] = set()
    remaining = iter(texts)
    while block := list(islice(remaining, 1000)):
        letters.update(*block)
        yield block
    if not any(not letter.isspace() for letter in letters):
        raise DataError(
            "there is no text to train a tokenizer on: every line is empty; check the files of [data] train."
        )
    needed = len(reserved) + len(letters | {SPACE})
    if config.kind == "unigram" and config.vocabulary < needed:  # the library would search for ever
        raise _too_small(config, needed, reserved)


def _too_small(config: TokenizerConfig, needed: int, reserved: Sequence[str]) -> ConfigError:
    content = "every byte" if config.kind == "bpe" else "every character of the text"
    return ConfigError(
        f"tokenizer.vocabulary = {config.vocabulary} is too small for kind '{config.kind}': "
        f"{content} and {len(reserved)} special tokens need at least {needed}; raise it or choose another kind"
    )


def _kind(content: dict[str, Any]) -> str:
    if content["model"]["type"] == "WordLevel":
        return "character" if content["decoder"]["type"] == "Fuse" else "word"
    if content["model"]["type"] == "BPE" and not content["model"]["merges"]:
        return "byte"
    return {"BPE": "bpe", "Unigram": "unigram", "WordPiece": "wordpiece"}[content["model"]["type"]]


# --- one set-up a kind


def _bpe(config: TokenizerConfig, reserved: list[str]) -> tuple[Library, Any]:
    """Set up byte-level BPE: any text can be written and read back exactly."""
    library = Library(models.BPE())
    library.normalizer = normalizers.Prepend(" ")  # so that a word is the same token first and later in a sentence
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.pre_tokenizer = _with_digits(byte_level, config, before=True)
    library.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return library, trainers.BpeTrainer(
        vocab_size=config.vocabulary,
        min_frequency=config.min_frequency,
        special_tokens=reserved,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )


def _unigram(config: TokenizerConfig, reserved: list[str]) -> tuple[Library, Any]:
    """Set up a unigram language model over pieces; characters never seen become UNKNOWN."""
    library = Library(models.Unigram())
    library.pre_tokenizer = _with_digits(pre_tokenizers.Metaspace(), config)
    library.decoder = decoders.Metaspace()
    return library, trainers.UnigramTrainer(
        vocab_size=config.vocabulary, special_tokens=reserved, unk_token=SPECIALS[UNKNOWN], show_progress=False
    )


def _wordpiece(config: TokenizerConfig, reserved: list[str]) -> tuple[Library, Any]:
    """Set up BERT's word pieces: the longest known beginning of a word, then of its rest (marked ##)."""
    library = Library(models.WordPiece(unk_token=SPECIALS[UNKNOWN]))
    library.pre_tokenizer = _with_digits(pre_tokenizers.BertPreTokenizer(), config)
    library.decoder = decoders.WordPiece(cleanup=False)
    return library, trainers.WordPieceTrainer(
        vocab_size=config.vocabulary,
        min_frequency=config.min_frequency,
        special_tokens=reserved,
        show_progress=False,
    )


def _word(config: TokenizerConfig, reserved: list[str]) -> tuple[Library, Any]:
    """Set up whole words and single punctuation marks; a mark on each says whether a space came before."""
    library = Library(models.WordLevel(unk_token=SPECIALS[UNKNOWN]))
    library.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    piece = Regex(rf"{SPACE}?(?:[\p{{P}}\p{{S}}&&[^{SPACE}]]|[^\p{{P}}\p{{S}}\s]+)|{SPACE}|\s")
    library.pre_tokenizer = _with_digits(pre_tokenizers.Split(piece, "isolated"), config)
    library.decoder = decoders.Metaspace()
    return library, _word_trainer(config, reserved)


def _character(config: TokenizerConfig, reserved: list[str]) -> tuple[Library, Any]:
    """Set up single characters, the space among them."""
    library = Library(models.WordLevel(unk_token=SPECIALS[UNKNOWN]))
    library.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    library.decoder = decoders.Fuse()
    return library, _word_trainer(config, reserved)


def _byte(config: TokenizerConfig, reserved: list[str]) -> tuple[Library, Any]:
    """Set up single bytes: the vocabulary needs no training."""
    return _bpe(config.model_copy(update={"vocabulary": len(reserved) + _BYTES}), reserved)


_SETUPS = {
    "bpe": _bpe,
    "unigram": _unigram,
    "wordpiece": _wordpiece,
    "word": _word,
    "character": _character,
    "byte": _byte,
}


def _word_trainer(config: TokenizerConfig, reserved: list[str]) -> Any:
    return trainers.WordLevelTrainer(
        vocab_size=config.vocabulary,
        min_frequency=config.min_frequency,
        special_tokens=reserved,
        show_progress=False,
    )


def _with_digits(splitter: Any, config: TokenizerConfig, *, before: bool = False) -> Any:
    if not config.split_digits:
        return splitter
    digits = pre_tokenizers.Digits(individual_digits=True)
    return pre_tokenizers.Sequence([digits, splitter] if before else [splitter, digits])


def _make_unigram_reproducible(model: dict[str, Any], reserved: int) -> None:
    """Order the pieces, and smooth what depends on the order in which the library's hash tables are walked.

    That is the last digits of the scores, and the scores of rare single characters, which the library puts a tiny
    step apart at the bottom. The special tokens are respelt with a space, which no piece of text holds here,
    because the model would otherwise find them in text.
    """
    specials, pieces = model["vocab"][:reserved], model["vocab"][reserved:]
    lowest = min(score for _, score in pieces)
    bottom = lowest + 1e-4 * sum(len(piece) == 1 for piece, _ in pieces)
    scores = {piece: round(lowest if len(piece) == 1 and score <= bottom else score, 6) for piece, score in pieces}
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    model["vocab"] = [[name + " ", score] for name, score in specials] + [[piece, score] for piece, score in ordered]


# --- forks

# The library warns about every fork after parallel work and may hang in the child. Setting its variable around
# the fork keeps the parent parallel, the child serial and the terminal quiet; a user's own setting is left alone.
_VARIABLE = "TOKENIZERS_PARALLELISM"
_set_by_us: list[bool] = []


def _before_fork() -> None:
    if _VARIABLE not in os.environ:
        os.environ[_VARIABLE] = "false"
        _set_by_us.append(True)


def _after_fork_in_parent() -> None:
    if _set_by_us:
        _set_by_us.clear()
        os.environ.pop(_VARIABLE, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent)
