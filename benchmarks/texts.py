"""The same pairs for every toolkit: jumok's tokens as words with spaces between, and its vocabulary."""

from pathlib import Path

from jumok.data.text.pair_store import PairStore
from jumok.data.text.tokenizer import SPECIALS, Tokenizer
from jumok.runs.job import Job


def write_texts(training: Job, folder: Path) -> int:
    """Write jumok's pairs as lines of tokens with spaces between, and its vocabulary; return how many train pairs."""
    tokenizer: Tokenizer = training.task.source_tokenizer
    tokens = list(tokenizer.vocabulary)
    assert not any(letter.isspace() for token in tokens for letter in token), "a token with a space cannot be written"
    (folder / "vocabulary").write_text("".join(f"{token}\n" for token in tokens[len(SPECIALS) :]), encoding="utf-8")
    stores: dict[str, PairStore] = {"train": training.task.corpora.train}
    stores["val"] = next(iter(training.task.corpora.evaluation("val").values()))
    for split, store in stores.items():
        for side in ("source", "target"):
            rows = getattr(store, side)
            lines = (" ".join(tokens[number] for number in rows[place]) for place in range(len(store)))
            (folder / f"{split}.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(stores["train"])
