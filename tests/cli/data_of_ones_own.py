"""Small data of each kind that somebody may have: what the tests of `jumok new` and of the first steps are typed on."""

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
from cli.conftest import digit_pairs, write_lines

FILMS = ["film", "play", "book", "song", "dance", "novel", "show", "story"]
WORDS = {"good": ["lovely", "great", "superb"], "bad": ["awful", "poor", "dreadful"]}


def labelled_texts(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Return texts and their classes, which one word decides."""
    generator = random.Random(seed)
    labels = [generator.choice(list(WORDS)) for _ in range(count)]
    return [
        (f"I saw the {generator.choice(FILMS)} {number} and it was {generator.choice(WORDS[label])}", label)
        for number, label in enumerate(labels)
    ]


def write_csv(path: Path, rows: list[tuple[object, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def two_files(folder: Path) -> None:
    """talks.en and talks.ko."""
    pairs = digit_pairs(300)
    write_lines(folder / "talks.en", [source for source, _ in pairs])
    write_lines(folder / "talks.ko", [target for _, target in pairs])


def pairs_csv(folder: Path) -> None:
    """pairs.csv: a number, English, Korean."""
    write_csv(folder / "pairs.csv", [("id", "en", "ko"), *((n, *pair) for n, pair in enumerate(digit_pairs(300)))])


def reviews_csv(folder: Path) -> None:
    """reviews.csv: id, review, sentiment."""
    rows = [(number, *row) for number, row in enumerate(labelled_texts(300))]
    write_csv(folder / "reviews.csv", [("id", "review", "sentiment"), *rows])


def reviews_jsonl(folder: Path) -> None:
    """reviews.jsonl: text, label, and a list that is no text."""
    lines = [json.dumps({"text": text, "label": label, "tags": ["x"]}) for text, label in labelled_texts(200)]
    write_lines(folder / "reviews.jsonl", lines)


def photos(folder: Path) -> None:
    """photos/: a folder for each class, PNG files of 72 pixels in them."""
    from jumok.data.builtin import shapes

    for number in range(120):
        scene = shapes.scene("train", number)
        (folder / "photos" / scene.label).mkdir(parents=True, exist_ok=True)
        shapes.draw(scene, 72).save(folder / "photos" / scene.label / f"{number}.png")


def photos_csv(folder: Path) -> None:
    """photos.csv: file and form of the same images."""
    photos(folder)
    files = sorted((folder / "photos").rglob("*.png"))
    rows = [(file.relative_to(folder).as_posix(), file.parent.name) for file in files]
    write_csv(folder / "photos.csv", [("file", "form"), *rows])


def captioned(folder: Path) -> None:
    """album/, and captions.csv with two captions of each image."""
    from jumok.data.builtin import relations

    (folder / "album").mkdir(exist_ok=True)
    rows = []
    for number in range(60):
        scene = relations.scene("train", number)
        relations.draw(scene, 32).save(folder / "album" / f"{number}.png")
        first = scene.described[0]
        rows += [(f"{number}.png", scene.caption), (f"{number}.png", f"There is a {first.colour} {first.form}.")]
    write_csv(folder / "captions.csv", [("image", "caption"), *rows])


def digits_npz(folder: Path) -> None:
    """digits.npz: x, y."""
    generator = np.random.default_rng(1)
    y = np.arange(120) % 3
    x = generator.integers(0, 60, (120, 28, 28)) + 90 * (np.arange(28)[None, None] // 10 == y[:, None, None])
    np.savez(folder / "digits.npz", x=x.astype(np.uint8), y=y)


def novel_txt(folder: Path) -> None:
    """novel.txt: paragraphs of prose; names keep `check` from taking one for a copy of another."""
    generator = random.Random(2)
    subjects, verbs, places = (
        ["the fox", "a miller", "old Anna"],
        ["slept", "sang", "waited"],
        ["in the mill", "by the sea"],
    )

    def name() -> str:
        return "".join(generator.choices("abdegiklmnoprstu", k=6))

    sentences = [
        f"{generator.choice(subjects)} {generator.choice(verbs)} {generator.choice(places)} of {name()} {name()}.".capitalize()
        for _ in range(400)
    ]
    paragraphs = [" ".join(sentences[start : start + 5]) for start in range(0, 400, 5)]
    (folder / "novel.txt").write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")


def texts(folder: Path) -> None:
    """texts/: the same as 16 files."""
    novel_txt(folder)
    paragraphs = (folder / "novel.txt").read_text(encoding="utf-8").split("\n\n")
    (folder / "texts").mkdir()
    for number in range(16):
        write_lines(folder / "texts" / f"{number}.txt", paragraphs[number * 5 : number * 5 + 5])


KINDS: dict[str, Callable[[Path], None]] = {
    made.__name__: made
    for made in (
        two_files,
        pairs_csv,
        reviews_csv,
        reviews_jsonl,
        photos,
        photos_csv,
        captioned,
        digits_npz,
        novel_txt,
        texts,
    )
}


def tiny_bert(folder: Path) -> None:
    """models/bert: a small random BERT, as transformers saves it; its vocabulary has the words of the reviews."""
    from transformers import BertConfig, BertForMaskedLM

    words = sorted({word for text, _ in labelled_texts(300) for word in text.lower().split() if word.isalpha()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    home = folder / "models" / "bert"
    home.mkdir(parents=True)
    write_lines(home / "vocab.txt", pieces)
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
        max_position_embeddings=64,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(home)


def an_earlier_run(folder: Path) -> None:
    """A BERT, and a table to fine-tune it on."""
    tiny_bert(folder)
    reviews_csv(folder)


def everything(folder: Path) -> None:
    """All of it, and an image."""
    from jumok.data.builtin import shapes

    for make in (two_files, pairs_csv, reviews_csv, photos, novel_txt, tiny_bert):
        make(folder)
    shapes.draw(shapes.scene("test", 0), 72).save(folder / "image.png")
