"""Tables that start from a word2vec text file."""

import pytest
import torch

from jumok.errors import ConfigError
from jumok.tasks.word2vec import load_word2vec


def test_word2vec_vectors_start_the_rows_of_known_words(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("3 4\nking 1 2 3 4\nqueen 4 3 2 1\nunseen 0 0 0 9\n", encoding="utf-8")
    table = torch.nn.Embedding(7, 4)
    before = table.weight.detach().clone()
    assert load_word2vec(path, {"king": 5, "queen": 2}, table) == 2
    assert torch.equal(table.weight[[0, 1, 3, 4, 6]], before[[0, 1, 3, 4, 6]])
    cosine = torch.cosine_similarity(table.weight[5], torch.tensor([1.0, 2.0, 3.0, 4.0]), dim=0)
    assert cosine > 0.9999
    with pytest.raises(ConfigError, match="vectors of width 4, the model's embeddings have 5"):
        load_word2vec(path, {}, torch.nn.Embedding(7, 5))
