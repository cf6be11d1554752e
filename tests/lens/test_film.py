"""A film on disk: frames come back as they were kept, and what is not part of it is left out or told."""

import json
from dataclasses import replace

import pytest
import torch
from lens.test_html import read

from jumok.errors import DataError, RunError
from jumok.inspection.data_url import as_data_url
from jumok.inspection.film import Frame, Shot
from jumok.inspection.labels import cell_labels
from jumok.inspection.record import AttentionMap
from jumok.lens.film import ANSWERS, HEAD, film_folder, forget_frames, load_film, save_frame
from jumok.lens.film_page import FOOTERS, make_film_page
from jumok.tensor_file import read_tensors, write_tensors


def make_frame(step, words=("▁b", "[END]")):
    """Return a frame of two layers of three heads with random weights."""
    generator = torch.Generator().manual_seed(step)
    keys = ("▁한", "국", "[END]", "</script>", "e")
    maps = [
        AttentionMap(f"decoder.{layer}.cross", "cross", layer, torch.randn(3, len(words), 5, generator=generator).softmax(dim=-1), words, keys)
        for layer in range(2)
    ]  # fmt: skip
    return Frame(step, (Shot("한국 e", "b", f"at {step}", tuple(maps), (0, 0, 1, 2, 3), tuple(range(len(words)))),))


def test_frames_come_back_by_step_as_they_were_kept(tmp_path):
    kept = {step: make_frame(step) for step in (1000, 0, 90)}
    for frame in kept.values():
        save_frame(frame, tmp_path)
    film = load_film(tmp_path)
    assert [frame.step for frame in film.frames] == [0, 90, 1000]
    for frame in film.frames:
        (ours,), (theirs,) = frame.shots, kept[frame.step].shots
        assert replace(ours, maps=()) == replace(theirs, maps=())
        for one, other in zip(ours.maps, theirs.maps, strict=True):
            assert replace(one, weights=other.weights) == other
            torch.testing.assert_close(one.weights, other.weights, rtol=1e-3, atol=1e-6)
    assert film.scores == {}
    assert film.score == "loss"
    forget_frames(tmp_path, after=90)
    assert [frame.step for frame in load_film(tmp_path).frames] == [0, 90]


def test_frames_of_other_sentences_are_left_out(tmp_path):
    save_frame(make_frame(0, ("▁c", "d", "[END]")), tmp_path)
    for step in (10, 20):
        save_frame(make_frame(step), tmp_path)
    assert [frame.step for frame in load_film(tmp_path).frames] == [10, 20]


def test_scores_that_are_no_numbers_are_not_drawn(tmp_path):
    save_frame(make_frame(5), tmp_path)
    rows = [{"step": 5, "loss": 1.0}, *({"step": step, "evaluation": {"loss": loss, "bleu": 1.5}} for step, loss in ((5, 2.0), (9, float("nan"))))]  # fmt: skip
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, rows)) + '\n{"step": 12, "evalu')
    film = load_film(tmp_path)
    assert set(film.scores) == {5, 9}
    text = make_film_page(film, name="run").html
    assert '"charts":[{"name":"BLEU","values":[[5,1.5],[9,1.5]]},{"name":"val loss","values":[[5,2.0]]}]' in text
    assert '"nonfinite":' not in text
    assert text.count("</script>") == 3, "a token is no end of a script"


def test_a_damaged_frame_is_told_and_no_film_is_none(tmp_path):
    assert load_film(tmp_path) is None
    save_frame(make_frame(3), tmp_path)
    path = film_folder(tmp_path) / "step-3.safetensors"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"step-3\.safetensors is no whole frame of a film \(.*copy the run again, or remove the file"):  # fmt: skip
        load_film(tmp_path)


def test_lines_of_the_log_that_are_damaged_are_skipped(tmp_path):
    save_frame(make_frame(5), tmp_path)
    lines = [
        b'{"step": 5, "evaluation": {"loss": 2.0}}', b'{"step": 6, "evaluation": {"loss": "\xff"}}',
        b'{"step": 7, "evaluation": {"loss": "low"}}', b'{"step": "8", "evaluation": {"loss": 1.0}}', b"[" * 5000,
        b'{"step": 9, "evaluation": [1]}', b'{"step": ' + b"1" * 5000 + b"}", b'{"step": 10, "evaluation": {"loss": null}}',
    ]  # fmt: skip
    (tmp_path / "metrics.jsonl").write_bytes(b"\n".join(lines))
    scores = load_film(tmp_path).scores
    assert scores[5] == {"loss": 2.0}
    assert scores.keys() == {5, 10}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"queries": ["a"]}, "probe 1 has weights of shape (3, 2, 5)"),
        ({"keys": "abcde"}, "'keys' is \"abcde\"; a list of texts is needed"),
        ({"maps": []}, "probe 1 has no maps"),
        ({"maps": [{"path": "a", "kind": "cross", "layer": "0"}]}, "'layer' is \"0\"; a whole number is needed"),
        ({"source_words": [0, 1, 2, 3, 99]}, "probe 1 has 5 numbers of words for 5 tokens"),
        ({"source_words": [0]}, "probe 1 has 1 numbers of words for 5 tokens"),
        ({"answer_is": "opera"}, "probe 1 is answered by a 'opera'"),
        ({"sides": ["one"]}, "probe 1 is answered by a 'translation'"),
        ({"image": "data:image/png;base64,AAAA"}, "an image cannot be read: "),
        ({"image": 7}, "'image' is 7; a text is needed"),
        ({"source": None}, "'source' is null; a text is needed"),
    ],
)
def test_a_frame_whose_head_is_wrong_is_told(tmp_path, changes, why):
    save_frame(make_frame(3), tmp_path)
    path = film_folder(tmp_path) / "step-3.safetensors"
    tensors, said = read_tensors(path, HEAD)
    head = json.loads(said)
    head["shots"][0] |= changes
    write_tensors(tensors, path, json.dumps(head), entry=HEAD)
    with pytest.raises(DataError) as told:
        load_film(tmp_path)
    assert f"step-3.safetensors is no whole frame of a film ({why}" in str(told.value)


def test_every_kind_of_answer_has_its_footer():
    assert set(ANSWERS) == FOOTERS.keys()


def test_a_frame_that_cannot_be_written_says_how_to_go_on(tmp_path):
    film_folder(tmp_path).write_text("in the way")
    with pytest.raises(
        RunError,
        match=r"cannot be written: a file of that name is in the way; mend that, then go on with --resume \(--set training\.probes=0",
    ):
        save_frame(make_frame(3), tmp_path)


def caption_frame(step):
    """Return a frame of a captioner: five words that look at 3 × 5 cells of an image."""
    words, grid = ("▁a", "▁red", "▁tri", "angle", "[END]"), (3, 5)
    weights = (step * torch.randn(2, 5, 15, generator=torch.Generator().manual_seed(step))).softmax(dim=-1)
    found = AttentionMap("attention", "recurrent", 0, weights, words, cell_labels(grid, 0), grid)
    image = as_data_url(torch.randint(255, (12, 20, 3), generator=torch.Generator().manual_seed(1)).byte().numpy())
    shot = Shot("a.png", "a red triangle", f"at {step}", (found,), tuple(range(15)), (0, 1, 2, 2, 3),
                sides=("reference", "image"), answer_is="caption", image=image)  # fmt: skip
    return Frame(step, (shot,))


def test_a_captioners_frames_keep_the_image_and_the_grid(tmp_path):
    for step in (0, 3):
        save_frame(caption_frame(step), tmp_path)
    film = load_film(tmp_path)
    for frame in film.frames:
        (ours,), (theirs,) = frame.shots, caption_frame(frame.step).shots
        assert replace(ours, maps=()) == replace(theirs, maps=())
        assert ours.maps[0].grid == (3, 5)
        assert ours.pixels.shape == (12, 20, 3)
    first, last = (frame.shots[0] for frame in film.frames)
    assert first.apart == pytest.approx(0.0, abs=1e-3), "all words look everywhere"
    assert last.apart > 0.5
    data = read(make_film_page(film, name="attend"))[0]
    assert data["probes"][0]["grids"] == {"recurrent": {"rows": 3, "columns": 5, "block": 1}}
    assert data["probes"][0]["image"] == last.image
    assert data["footer"] == FOOTERS["caption"]
