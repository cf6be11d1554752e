"""Write tests/evaluation/caption_scores.json: captions made up here, and what pycocoevalcap 1.2 says of them.

python tools/caption_scores.py        # needs pip install pycocoevalcap==1.2
"""

import json
import random
from importlib.metadata import version
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent.parent / "tests" / "evaluation" / "caption_scores.json"
WHO = ["a dog", "two dogs", "a man", "a woman in a red hat", "three small children", "a boy"]
DOES = ["runs", "is running", "jumps over a log", "sits", "plays with a ball", "looks at the camera"]
WHERE = ["", "in the snow", "on the grass", "near the water at night", "in front of a crowd of people"]
# Written by nobody's model, but what models write: nothing, one word, the same word again and again, far too much.
ODD = [
    "",
    "dog",
    "dog dog dog dog dog dog",
    "a dog",
    "a man in a red hat in a red hat in a red hat on the grass",
    "xyzzy",
]


def corpus(seed: int, images: int, references: tuple[int, int], *, odd: bool) -> tuple[list[str], list[list[str]]]:
    """Return a caption for each image, and its references."""
    generator = random.Random(seed)

    def caption(who: str) -> str:
        return " ".join(filter(None, (who, generator.choice(DOES), generator.choice(WHERE))))

    subjects = [generator.choice(WHO) for _ in range(images)]
    wanted = [[caption(who) for _ in range(generator.randint(*references))] for who in subjects]
    written = [caption(generator.choice([who, who, generator.choice(WHO)])) for who in subjects]
    if odd:
        written[: len(ODD)] = ODD
    return written, wanted


def scored(hypotheses: list[str], references: list[list[str]]) -> dict[str, Any]:
    """Return pycocoevalcap's scores of a corpus and of each caption, as they come out."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    wanted = dict(enumerate(references))
    written = {number: [text] for number, text in enumerate(hypotheses)}
    bleu, bleu_each = Bleu(4).compute_score(wanted, written, verbose=0)
    cider, cider_each = Cider().compute_score(wanted, written)
    rouge, rouge_each = Rouge().compute_score(wanted, written)
    return {
        "bleu": [float(value) for value in bleu],
        "bleu_each": [[float(value) for value in of_image] for of_image in zip(*bleu_each, strict=True)],
        "cider_d": float(cider),
        "cider_d_each": cider_each.tolist(),
        "rouge_l": float(rouge),
        "rouge_l_each": rouge_each.tolist(),
    }


def main() -> None:
    corpora = {
        "five references": corpus(1, 31, (5, 5), odd=False),
        "one reference": corpus(2, 23, (1, 1), odd=False),
        "odd captions": corpus(3, 29, (1, 5), odd=True),
        "one image": corpus(4, 1, (5, 5), odd=False),
    }
    found = {
        name: {"hypotheses": written, "references": wanted} | scored(written, wanted)
        for name, (written, wanted) in corpora.items()
    }
    text = json.dumps({"pycocoevalcap": version("pycocoevalcap"), "corpora": found})
    HOME.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
