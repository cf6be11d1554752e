"""Readable labels of tokens, made by whatever tokenizer the model has.

ids and a tokenizer of transformers or of jumok → labels (spaces as ▁, bytes as <EC>), words
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

from jumok.errors import ConfigError

SPACE = "▁"  # marks a space inside a token, as in SentencePiece


class Labels(NamedTuple):
    """The labels of a sequence of tokens."""

    labels: tuple[str, ...]
    words: tuple[int, ...] = ()  # the word of each token, counted from 0; empty where it is not known
    decoded: str = ""  # the text that a tokenizer makes of the tokens

    def after_first(self) -> "Labels":
        """Return the labels without the first."""
        return Labels(self.labels[1:], tuple(word - self.words[1] for word in self.words[1:]), self.decoded)

    @property
    def text(self) -> str:
        """The text that the tokens make together."""
        between = "" if all(len(label) == 1 for label in self.labels) else " "
        return self.decoded or between.join(self.labels)


class _OwnTokenizer(Protocol):
    """A tokenizer of jumok."""

    def labels(self, ids: Sequence[int]) -> list[str]: ...
    def words(self, ids: Sequence[int]) -> list[int]: ...
    def decode(self, ids: Sequence[int]) -> str: ...


class _TransformersTokenizer(Protocol):
    """A tokenizer of transformers."""

    all_special_ids: Sequence[int]

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]: ...
    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str: ...


def read_tokens(tokens: Any, tokenizer: Any = None, *, name: str = "tokens") -> Labels:
    """Return the labels of tokens: strings as they are, or ids (a list, an array or the first row of a tensor).

    tokenizer is one of transformers or of jumok; ids need one. name is that of the argument, for messages.
    """
    found = tokens.tolist() if hasattr(tokens, "tolist") else tokens
    if isinstance(found, list | tuple) and len(found) and isinstance(found[0], list | tuple):
        found = found[0]  # a batch: its first example, as of the maps
    if isinstance(found, list | tuple) and all(isinstance(token, str) for token in found):
        return Labels(tuple(found))
    if not isinstance(found, list | tuple) or not all(isinstance(token, int) for token in found):
        raise ConfigError(
            f"{name} is a {type(tokens).__name__}; give a list of labels, one per token that the model read, or their ids "
            "and tokenizer=…"
        )
    ids = list(found)
    if tokenizer is None:
        raise ConfigError(f"{name} are ids; give tokenizer=… to turn them into labels, or a list of labels")
    if _is_of_transformers(tokenizer):
        return _read_with_transformers(ids, tokenizer)
    if _is_own(tokenizer):
        return Labels(tuple(tokenizer.labels(ids)), tuple(tokenizer.words(ids)), tokenizer.decode(ids))
    raise ConfigError(
        f"tokenizer is a {type(tokenizer).__name__}; give one of transformers or of jumok, or a list of labels as {name}"
    )


def _is_of_transformers(tokenizer: object) -> TypeGuard[_TransformersTokenizer]:
    return hasattr(tokenizer, "convert_ids_to_tokens") and hasattr(tokenizer, "all_special_ids")


def _is_own(tokenizer: object) -> TypeGuard[_OwnTokenizer]:
    return hasattr(tokenizer, "labels") and hasattr(tokenizer, "words")


def _read_with_transformers(ids: list[int], tokenizer: _TransformersTokenizer) -> Labels:
    tokens, special = tokenizer.convert_ids_to_tokens(ids), set(tokenizer.all_special_ids)
    plain = [token for index, token in zip(ids, tokens, strict=True) if index not in special]
    in_bytes = _is_byte_level(tokenizer, plain)
    labels = [
        token if index in special else readable_bytes(token) if in_bytes else readable_piece(token)
        for index, token in zip(ids, tokens, strict=True)
    ]
    words = _find_words(labels, [index in special for index in ids])
    return Labels(tuple(labels), words, tokenizer.decode(ids, skip_special_tokens=True))


def _is_byte_level(tokenizer: object, tokens: Sequence[str]) -> bool:
    """Return whether letters of tokens stand for bytes: all are letters of GPT-2's table, and the library says so."""
    backend = getattr(tokenizer, "backend_tokenizer", None)  # slow tokenizers have none
    named = (
        "ByteLevel" in repr(getattr(backend, "decoder", ""))
        if backend is not None
        else hasattr(tokenizer, "byte_decoder")
    )
    return named and all(letter in BYTE_OF_LETTER for token in tokens for letter in token)


def _byte_of_letter() -> dict[str, int]:
    """Return the byte that each letter of a byte-level token stands for: printable ones for themselves."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


BYTE_OF_LETTER = _byte_of_letter()


def readable_bytes(token: str) -> str:
    """Return the text of a byte-level token; bytes of an unfinished character are named, as in <EC>."""
    raw = bytes(BYTE_OF_LETTER[letter] for letter in token)
    named = "".join(chr(byte) if byte < 0x80 else f"<{byte:02X}>" for byte in raw)
    try:
        return raw.decode("utf-8").replace(" ", SPACE)
    except UnicodeDecodeError:
        return named.replace(" ", SPACE)


def readable_piece(token: str) -> str:
    """Return the text of a piece of SentencePiece, WordPiece or a word; <0xEC> is the byte EC."""
    if token.startswith("<0x") and token.endswith(">") and len(token) == 6:
        byte = int(token[3:5], 16)
        return chr(byte) if 0x21 <= byte < 0x7F else SPACE if byte == 0x20 else f"<{byte:02X}>"
    return token.replace(" ", SPACE)


def _find_words(labels: Sequence[str], special: Sequence[bool]) -> tuple[int, ...]:
    """Return the word of each token: begun by a space, or by whatever is not marked ## where words are cut that way."""
    by_hashes = not any(label.startswith(SPACE) for label in labels)
    numbers: list[int] = []
    for place, label in enumerate(labels):
        after_special = place > 0 and special[place - 1]
        begins = not label.startswith("##") if by_hashes else label.startswith(SPACE)
        begins = begins or special[place] or after_special or not numbers
        numbers.append((numbers[-1] if numbers else -1) + begins)
    return tuple(numbers)
