"""Batches for a seed are, bit for bit, what they were before the streams had one base, so that old runs go on exactly.

The hashes below were computed by the code of commit 5323288.
"""

import dataclasses
import hashlib

import numpy as np
import pytest
import torch

from jumok.config import Augment, ImageData, LabelledData, MaskedTextData, ParallelData, TextData, TokenizerConfig
from jumok.data.images.image_store import LabelledImageStore
from jumok.data.text.documents import TextCorpora
from jumok.data.text.labelled import LabelledCorpora
from jumok.data.text.mixture import Mixture
from jumok.data.text.parallel import ParallelCorpora
from jumok.tasks.blocks import BlockBatches
from jumok.tasks.image_batches import ImageBatches
from jumok.tasks.label_batches import LabelBatches
from jumok.tasks.masking import MaskedBatches
from jumok.tasks.pairs import PairBatches

BATCHES = {
    "pairs": "ac94e3f10df8b2d2f6bea42a10058fe3",
    "pairs, subword dropout": "9df0b0c78afec0b9883d301cd35d0af4",
    "pairs, weights": "03a7b614a58c63600055262bed0634e9",
    "blocks": "588f173428c5b1c0e61c7858013ed96f",
    "blocks, separate": "7d79dd5844bcda78585f6df4500a6aca",
    "masked": "276449ec55d8b13663981f5fe6da9075",
    "masked, whole words, next sentence": "879c675cd86dfccb767b3bffe7d0f22a",
    "labelled": "347ad26f50be7ee9633cdd384b90b3d4",
    "labelled, subword dropout": "d9bf1e72fe942b6c4ebb625f03399b8c",
    "images": "042bac6fd2896995b3f2b8ce67b1db4a",
    "images, varied and mixed": "03454f25d12e387641463e46d925291b",
}
FINGERPRINTS = {
    "pairs": "data-5fab8894dbd76bcac9fb7f9a6025d9ca",
    "pairs, several ways": "data-da7b99686e91a8979be988cea4428b3b",
    "pairs, built in": "data-4ea91ca29d049c205feb9e4026771a0d",
    "text": "data-469d8fc9137f3b3633d34ebbf5b4ae24",
    "text, held out": "data-02306d93723e0b1551532666cd8030a6",
    "labelled": "data-b4a1e6055f578acb9b2af8876438acd6",
    "labelled, held out": "data-9e6a2c66a30484da7c75d7719dc4aaa6",
}
HELD_OUT_BY_ANOTHER_HASH = "data-0f8472c3fd039b4ff2f05c7f6ac5ab06"
DIVIDED = {
    "text, held out": "d6c522613f0e6e2ebc61befc40807e8f",
    "text, the rest": "9569e69ed1b10a6cc0e10eb3679c4369",
    "labelled, held out": "de16417e160ce20eca9a99af59b9b9a2",
    "labelled, the rest": "b272f5f791ff865e403b4c6916f08265",
    "labelled, limited": "f0f7419705f44d0a6b97eaa0e71a59bd",
}

WORDS = ["red", "green", "blueberry", "yellowish", "violet", "누구니", "été"]
BPE = TokenizerConfig(vocabulary=290)
LINES, TABLE, ROWS = {"source": "lines.txt", "target": "turned.txt"}, {"file": "few.tsv"}, {"file": "rows.tsv"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    generator = np.random.default_rng(5)
    lines = [" ".join(generator.choice(WORDS, size=generator.integers(1, 19))) for _ in range(173)]
    written = {
        "lines.txt": lines,
        "turned.txt": [line[::-1] for line in lines],
        "rows.tsv": [f"{line}\t{'yes' if 'red' in line else 'no'}" for line in lines],
        "few.tsv": [f"{line}\t{line[::-1]}" for line in lines[:31]],
    }
    for name, content in written.items():
        (folder / name).write_text("\n".join(content) + "\n", encoding="utf-8")
    return folder


def pairs(folder, **data):
    return ParallelCorpora(ParallelData.parse({"train": [LINES, TABLE], "val": [TABLE]} | data, "data"), BPE, [folder])


def text(folder, **data):
    return TextCorpora(TextData(train="lines.txt", documents="line", **data), BPE, [folder])


def labelled(folder, **data):
    return LabelledCorpora(LabelledData(train=ROWS, max_length=31, **data), BPE, [folder])


def pair_stream(folder, **options):
    corpora = pairs(folder)
    tokenizers = (corpora.source_tokenizer, corpora.target_tokenizer)
    return PairBatches(corpora.train, tokenizers, batch_tokens=700, seed=3, max_length=256, **options)


def block_stream(folder, *, separate=False):
    corpora = text(folder, val="lines.txt")
    return BlockBatches(corpora.train, corpora.tokenizer, window=23, batch_tokens=300, seed=3, separate=separate)


def masked_stream(folder, **options):
    corpora = text(folder, val="lines.txt")
    data = MaskedTextData(train="lines.txt", val="lines.txt", documents="line", **options)
    return MaskedBatches(corpora.train, corpora.tokenizer, data, longest=29, batch_tokens=300, seed=3)


def label_stream(folder, **options):
    corpora = labelled(folder, val=ROWS)
    return LabelBatches(
        corpora.train, corpora.tokenizer, corpora.labels, batch_tokens=300, seed=3, max_length=31, **options
    )


class Images:
    """Images of noise."""

    pixels = np.random.default_rng(2).integers(0, 256, (47, 8, 8, 3), dtype=np.uint8)

    def __len__(self):
        return len(self.pixels)


def image_stream(folder, **augment):
    data = ImageData(set="shapes", mean=[0.5] * 3, deviation=[0.25, 0.5, 1.0], loaders=0, augment=Augment(**augment))
    store = LabelledImageStore(Images(), np.arange(47, dtype=np.int32) % 5)
    return ImageBatches(store, data, classes=5, batch_size=6, seed=3)


STREAMS = {
    "pairs": pair_stream,
    "pairs, subword dropout": lambda folder: pair_stream(folder, subword_dropout=(0.1, 0.2)),
    "pairs, weights": lambda folder: pair_stream(folder, mixture=Mixture([173, 31], [0.7, 2.5], seed=3)),
    "blocks": block_stream,
    "blocks, separate": lambda folder: block_stream(folder, separate=True),
    "masked": masked_stream,
    "masked, whole words, next sentence": lambda folder: masked_stream(folder, whole_words=True, next_sentence=True),
    "labelled": label_stream,
    "labelled, subword dropout": lambda folder: label_stream(folder, subword_dropout=0.1),
    "images": image_stream,
    "images, varied and mixed": lambda folder: image_stream(folder, crop=2, flip=True, erase=0.5, cutmix=1.0),
}


def digest(batches, count=61):
    """Return a hash of the next batches, of some after a jump, and of their places."""
    found = hashlib.sha256()
    for number in range(count):
        if number == count - 5:
            batches.seek(7, 2)
        found.update(repr(batches.position).encode())
        batch = batches.take().to(torch.device("cpu"))
        values = [getattr(batch, field.name) for field in dataclasses.fields(batch)]
        tensors = [value.contiguous().numpy() for value in values if value is not None]
        for each in sorted(repr(tensor.shape).encode() + tensor.tobytes() for tensor in tensors):
            found.update(each)
    return found.hexdigest()[:32]


@pytest.mark.parametrize("name", BATCHES)
def test_batches_are_what_they_were(folder, name):
    assert digest(STREAMS[name](folder)) == BATCHES[name]


def test_training_data_is_known_again(folder):
    """Else jumok train --resume would refuse the run."""
    several = [LINES | {"to": "x"}, TABLE | {"to": "y", "swap": True}]
    found = {
        "pairs": pairs(folder),
        "pairs, several ways": pairs(folder, train=several, val=[TABLE | {"to": "x"}], max_ratio=3.0),
        "pairs, built in": ParallelCorpora(ParallelData(set="copy", size=50), BPE, []),
        "text": text(folder, val="lines.txt"),
        "text, held out": text(folder),
        "labelled": labelled(folder, val=ROWS),
        "labelled, held out": labelled(folder, hold_out=20),
    }
    assert {name: corpora.fingerprint for name, corpora in found.items()} == FINGERPRINTS


def test_pairs_that_were_held_out_by_another_hash_are_other_training_data(folder):
    """An old run without val files would otherwise be scored on pairs that it has learnt."""
    assert pairs(folder, val=[]).fingerprint != HELD_OUT_BY_ANOTHER_HASH


def test_what_was_held_out_of_texts_still_is(folder):
    def ids(side):
        return hashlib.sha256(side.ids.astype("<i8").tobytes()).hexdigest()[:32]

    documents, examples = text(folder, hold_out=0.2), labelled(folder, hold_out=20)
    assert {
        "text, held out": ids(documents.evaluation("val")["held out"]),
        "text, the rest": ids(documents.train),
        "labelled, held out": ids(examples.evaluation("val")["held out"].first),
        "labelled, the rest": ids(examples.train.first),
        "labelled, limited": ids(labelled(folder, hold_out=20, limit=77).train.first),
    } == DIVIDED
