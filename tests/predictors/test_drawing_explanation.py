"""A drawing explained: cells look at the text and back, never ahead; observed = plain; words, shares, an image given."""

import numpy as np
import pytest
import torch
from lens.drawing_examples import GRID, TEXT, TOKENS, drawing
from PIL import Image
from torch.testing import assert_close

import jumok
from jumok.errors import ConfigError
from jumok.inspection.cells import BEGIN
from jumok.inspection.observe import observe
from jumok.nn.batch import DrawingBatch
from jumok.tasks.drawing_batches import texts_of
from jumok.tasks.image_tokens import decode, encode

SAID = "a large red circle above a small star"


@pytest.fixture(scope="module")
def drawer(drawer_run):
    found = jumok.load(drawer_run)
    with torch.no_grad():  # hardly trained: let it look sharply
        for path, weights in found.model.named_parameters():
            if "query" in path and weights.dim() == 2:
                weights.mul_(3.0)
    return found


@pytest.fixture(scope="module")
def explained(drawer):
    return drawer.explain(SAID)


def batch_of(drawer, codes, text=SAID):
    return DrawingBatch(*texts_of(drawer.task.ids([text])), torch.from_numpy(codes).view(1, -1))


def test_each_cell_looks_at_the_text_and_at_earlier_cells_alone(explained):
    texts, cells = len(explained.tokens), explained.codes.size
    assert explained.tokens[0] == "[START]"
    assert explained.word_labels == tuple(SAID.split())
    keys = explained.record.maps[0].keys
    assert keys[texts : texts + 2] == (BEGIN, "1,1")
    assert len(keys) == texts + cells
    for found in explained.record.maps:
        assert_close(found.weights.sum(dim=-1), torch.ones(2, cells))
        for cell in range(cells):
            allowed, later = found.weights[:, cell, : texts + 1 + cell], found.weights[:, cell, texts + 1 + cell :]
            assert (allowed > 0).all()
            assert (later == 0).all(), "no cell looks at itself or at what comes after it"


@torch.inference_mode()
def test_what_is_observed_is_the_plain_pass_over_its_codes(drawer, explained):
    model, batch, texts = drawer.model, batch_of(drawer, explained.codes), len(explained.tokens)
    plain = model.project(model.features(batch))[0].softmax(dim=-1)
    own = plain.gather(1, batch.codes.T).view(explained.grid)
    assert_close(explained.probabilities, own, atol=1e-6, rtol=1e-5)
    for cell, rivals in enumerate(explained.rivals):
        code = int(explained.codes.flat[cell])
        assert code not in dict(rivals)
        best = plain[cell].index_fill(0, torch.tensor(code), 0.0).max()
        assert rivals[0][1] == pytest.approx(float(best), abs=1e-6)
    with observe(model) as record:
        model.features(batch)
    for raw, found in zip(record.maps, explained.record.maps, strict=True):
        assert_close(found.weights, raw.weights[0, :, texts:], msg="row c is the place that tells cell c")


def test_the_probabilities_are_those_it_was_drawn_with(drawer):
    options = drawer.options.changed({"guidance": 1.0, "seed": 5})
    [drawn] = drawer.draw(SAID, options=options)
    found = drawer.explain(SAID, options=options)
    assert (found.codes == drawn.codes).all()
    assert (found.pixels == drawn.pixels).all()
    assert found.log_probability == pytest.approx(drawn.log_probability, abs=1e-3)
    assert found.guidance == 1.0


@torch.inference_mode()
def test_guidance_draws_another_image_and_the_pass_with_the_text_is_told(drawer, explained):
    strong = drawer.explain(SAID, options=drawer.options.changed({"guidance": 6.0}))
    assert strong.guidance == 6.0
    assert (strong.codes != explained.codes).any()
    batch = batch_of(drawer, strong.codes)
    plain = drawer.model.project(drawer.model.features(batch))[0].log_softmax(dim=-1)
    assert strong.log_probability == pytest.approx(float(plain.gather(1, batch.codes.T).sum()), abs=1e-3)


def test_a_given_image_is_explained_under_a_text(drawer, tmp_path):
    noise = np.random.default_rng(2).integers(0, 255, (32, 32, 3)).astype(np.uint8)
    Image.fromarray(noise).save(tmp_path / "image.png")
    found = drawer.explain(SAID, image=tmp_path / "image.png")
    codes = encode(drawer.task.codes, noise[None]).astype(np.int64)
    assert found.given
    assert (found.codes.ravel() == codes[0]).all()
    assert (found.pixels == decode(drawer.task.codes, codes)[0]).all(), "shown as its codes tell it"
    assert found.guidance == 1.0
    other = drawer.explain("a small blue star", image=tmp_path / "image.png")
    assert other.log_probability != found.log_probability
    wide = drawer.explain(SAID, image=Image.fromarray(noise[:20]))
    assert wide.codes.shape == (4, 4), "another size is fitted"


def test_words_are_looked_at_as_much_as_their_subwords_together():
    found = drawing()
    whole = found.in_words()
    assert whole.word_labels == ("a", "red", "triangle", "빨간")
    assert whole.tokens[-1] == "[END]"
    weights, joined = found.looked_at().weights, whole.looked_at().weights
    assert_close(joined[:, 3], weights[:, 3] + weights[:, 4])
    assert_close(joined[:, 6:], weights[:, 7:], msg="the mark and the cells stay")
    assert_close(joined.sum(dim=1), torch.ones(15))
    heat = whole.word_heat()
    assert heat.shape == (4, *GRID)
    assert_close(heat[2].flatten(), joined[:, 3])


def test_layers_and_heads_can_be_chosen():
    found = drawing()
    assert_close(found.looked_at(layer=2, head=3).weights, found.record.maps[1].weights[2])
    assert_close(found.word_heat(layer=1)[0].flatten(), found.record.maps[0].weights.mean(dim=0)[:, 1])
    assert found.title(layer=2, head=3) == "cells that looked at each word: decoder attention, layer 2, head 3"
    with pytest.raises(ConfigError, match="--layer 3: there are 2"):
        found.looked_at(layer=3)
    with pytest.raises(ConfigError, match="--head 4: there are 3"):
        found.shares(head=4)


def test_shares_divide_all_attention():
    found = drawing()
    words, marks, cells = found.shares()
    mean = found.looked_at().weights.mean(dim=0)
    assert words == pytest.approx(mean[1:6].tolist())
    assert marks == pytest.approx(float(mean[0] + mean[6] + mean[7]))
    assert cells == pytest.approx(float(mean[8:].sum()))
    assert sum(words) + marks + cells == pytest.approx(1.0)


def test_json_has_every_weight_and_a_png_a_panel_per_word(tmp_path):
    found = drawing(guidance=3.0)
    told = found.to_dict(layer=1)
    assert told["text"] == TEXT
    assert (told["guidance"], told["image_given"]) == (3.0, False)
    assert_close(torch.tensor(told["weights"]), found.looked_at(layer=1).weights)
    assert len(told["keys"]) == len(TOKENS) + 15
    assert np.shape(told["codes"]) == np.shape(told["probabilities"]) == GRID
    assert told["shares"]["cells"] == pytest.approx(found.shares(layer=1).cells)
    found.in_words().save_png(tmp_path / "words.png")
    with Image.open(tmp_path / "words.png") as image:
        width, height = image.size
    assert width > 2.5 * height, "an image and four words side by side"
    assert repr(found) == f"DrawingExplanation({TEXT!r}, 3 × 5 cells, 2 attention maps)"


def test_the_terminal_has_a_map_and_a_share_for_each_word():
    found = drawing().in_words()
    lines = found.draw_words(colour=False).plain.splitlines()
    assert lines[0].split() == ["a", "red", "triangle", "빨간"]
    assert lines[1].split() == [f"{share:.1%}" for share in found.shares().words]
    assert len(lines[2:5]) == 3
    strongest = divmod(int(found.word_heat()[0].argmax()), 5)
    assert lines[2 + strongest[0]][2 * strongest[1] : 2 * strongest[1] + 2] == "██"
