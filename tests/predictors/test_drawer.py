"""A drawer in use: what a drawing hangs on, and what it does not."""

import numpy as np
import pytest
import torch
from drawing_runs import CODES, COLUMNS, ROWS, SIZE
from PIL import Image

import jumok
from jumok.data.builtin import relations
from jumok.errors import ConfigError, DataError
from jumok.nn.batch import DrawingBatch
from jumok.predictors.drawn import Drawings, file_name
from jumok.tasks.drawing_batches import texts_of

TEXT, OTHER = "a large red circle at the top left", "a small blue star at the bottom right"


@pytest.fixture(scope="module")
def drawer(drawer_run) -> jumok.Drawer:
    return jumok.load(drawer_run, jumok.Drawer)


@pytest.fixture(scope="module")
def scene() -> Image.Image:
    return relations.draw(relations.scene("test", 3), SIZE)


def codes(drawings: Drawings) -> list[list[list[int]]]:
    return [one.codes.tolist() for one in drawings]


def test_an_answer_has_all_that_was_drawn(drawer):
    (drawn,) = drawer.draw(TEXT, seed=5)
    assert (drawn.text, drawn.seed, drawn.seen, drawn.given_rows) == (TEXT, 5, "", 0)
    assert (drawn.pixels.shape, drawn.pixels.dtype) == ((SIZE, SIZE, 3), np.uint8)
    assert drawn.codes.shape == (ROWS, COLUMNS)
    assert 0 <= drawn.codes.min() <= drawn.codes.max() < CODES
    assert np.array_equal(np.asarray(drawn.image), drawn.pixels)
    assert np.array_equal(drawn.pixels, drawer.task.pixels([drawn])[0]), "the image is that of the codes"


def test_a_seed_draws_the_same_and_another_seed_something_else(drawer):
    first = drawer.draw(TEXT, samples=3, seed=7)
    assert codes(drawer.draw(TEXT, samples=3, seed=7)) == codes(first)
    assert [one.seed for one in first] == [7, 8, 9]
    assert len({str(one) for one in codes(first)}) == 3
    assert codes(drawer.draw(TEXT, seed=8)) == codes(first)[1:2], "the seed of a sample draws it again alone"


def test_company_changes_no_drawing(drawer):
    many = drawer.draw(TEXT, samples=32)
    assert codes(drawer.draw(TEXT, samples=16)) == codes(many)[:16]
    narrow = drawer.options.changed({"batch_size": 5})
    assert codes(drawer.draw(TEXT, samples=16, options=narrow)) == codes(many)[:16]
    both = drawer.draw([OTHER, TEXT], samples=4)
    assert [one.text for one in both] == [OTHER] * 4 + [TEXT] * 4
    assert codes(both)[4:] == codes(many)[:4], "nor do other texts"


def test_guidance_of_1_is_none_and_the_run_has_its_own(drawer):
    assert drawer.options.guidance == 2.0, "as the recipe has it"
    assert codes(drawer.draw(TEXT, guidance=2.0, samples=4)) == codes(drawer.draw(TEXT, samples=4))
    plain = drawer.draw(TEXT, guidance=1.0, samples=4)
    assert codes(plain) != codes(drawer.draw(TEXT, guidance=3.0, samples=4))
    ids = drawer.task.ids([TEXT])
    unguided = drawer.options.changed({"guidance": 1.0, "n_best": 4})
    (found,) = drawer.task.draw(drawer.model, ids, options=unguided)
    assert [one.codes.tolist() for one in found] == codes(plain)


def logits_of(drawer, text: str, drawn: np.ndarray) -> torch.Tensor:
    """Return the logits (cells, codes) of one pass over a whole drawing."""
    row = torch.from_numpy(drawn.reshape(1, -1))
    ids = drawer.task.ids([text]) if text else [np.zeros(0, dtype=np.int64)]
    with torch.inference_mode():
        return drawer.model(DrawingBatch(*texts_of(ids), row))[0]


def test_drawing_step_by_step_is_one_pass_over_the_whole(drawer):
    """With one token to choose from, each code is the likeliest given those before; the guided logits are of two passes."""
    greedy = drawer.options.changed({"top_k": 1, "guidance": 1.0})
    (drawn,) = drawer.draw(TEXT, options=greedy)
    logits = logits_of(drawer, TEXT, drawn.codes)
    assert logits.argmax(dim=1).tolist() == drawn.codes.ravel().tolist()
    steps = logits.log_softmax(dim=1).gather(1, torch.from_numpy(drawn.codes.reshape(-1, 1)))
    assert drawn.log_probability == pytest.approx(float(steps.sum()), abs=1e-3)
    (drawn,) = drawer.draw(TEXT, options=greedy.changed({"guidance": 3.0}))
    given, without = logits_of(drawer, TEXT, drawn.codes), logits_of(drawer, "", drawn.codes)
    assert (3 * given - 2 * without).argmax(dim=1).tolist() == drawn.codes.ravel().tolist()


@pytest.mark.parametrize("rows", [1, 3])
def test_what_is_given_stays(drawer, scene, rows):
    drawings = drawer.draw(TEXT, samples=3, complete=(scene, rows))
    given = drawer.first_codes(scene, rows)
    assert len(given) == rows * COLUMNS
    for one in drawings:
        assert one.codes[:rows].ravel().tolist() == given
        assert one.given_rows == rows
    assert len({str(one.codes[rows:]) for one in drawings}) > 1, "the rest is drawn"
    (greedy,) = drawer.draw(TEXT, complete=(scene, rows), options=drawer.options.changed({"top_k": 1, "guidance": 1.0}))
    logits = logits_of(drawer, TEXT, greedy.codes).log_softmax(dim=1)[len(given) :]
    assert logits.argmax(dim=1).tolist() == greedy.codes.ravel()[len(given) :].tolist()
    assert greedy.log_probability == pytest.approx(float(logits.amax(dim=1).sum()), abs=1e-3), "of what was drawn"


def test_drawings_are_watched_row_by_row(drawer):
    seen: list[tuple[int, tuple[int, ...]]] = []
    told: list[int] = []
    drawings = drawer.draw(
        TEXT, samples=3, progress=told.append, watch=lambda text, first, grown: seen.append((text, grown.copy()))
    )
    assert sum(told) == 3 * ROWS
    assert [grown.shape for _, grown in seen] == [(3, rows, COLUMNS) for rows in range(1, ROWS)]
    for _, grown in seen:
        assert grown.tolist() == [one.codes[: grown.shape[1]].tolist() for one in drawings]
    half = drawer.begun(seen[1][1])
    assert [image.shape for image in half] == [(SIZE // 2, SIZE, 3)] * 3
    assert drawer.begun(seen[1][1][:, :0])[0].shape == (0, SIZE, 3)


def test_words_that_were_never_read_are_named(drawer):
    with pytest.raises(ConfigError, match=r"never read 'crimson', 'blobb'; it knows \d+ words: .*circle, red"):
        drawer.draw("a large crimson blobb.")
    with pytest.raises(ConfigError, match=r"^text 2: .*never read 'cirkle'; it knows \d+ words: circle"):
        drawer.draw([TEXT, "a red cirkle"])
    assert codes(drawer.draw(TEXT.capitalize())) == codes(drawer.draw(TEXT)), "a capital is no other word"


def test_texts_that_cannot_be_drawn_are_refused(drawer):
    with pytest.raises(ConfigError, match="nothing to draw"):
        drawer.draw("  ")
    with pytest.raises(ConfigError, match=r"the text has 80 tokens, and .* draws texts of 60 at most"):
        drawer.draw("a " * 80)
    with pytest.raises(ConfigError, match="samples = 0"):
        drawer.draw(TEXT, samples=0)


def test_images_that_cannot_be_completed_are_refused(drawer, scene, tmp_path):
    with pytest.raises(DataError, match=r"the image has 64 × 32 pixels, and .* draws 32 × 32"):
        drawer.draw(TEXT, complete=(scene.resize((64, 32)), 2))
    for rows in (-1, 0, ROWS):
        with pytest.raises(ConfigError, match=f"rows = {rows}: an image is 4 rows of codes; give 1 to 3"):
            drawer.draw(TEXT, complete=(scene, rows))
    (tmp_path / "text.png").write_text("no image")
    with pytest.raises(DataError, match=r"text\.png: no image"):
        drawer.draw(TEXT, complete=(tmp_path / "text.png", 2))


def test_files_are_named_by_their_text_and_never_written_over(drawer, tmp_path):
    drawings = drawer.draw([TEXT, OTHER], samples=2)
    names = [path.name for path in drawings.save(tmp_path / "new" / "folder")]
    assert names == [f"{name}-{number}.png" for name in map(file_name, (TEXT, OTHER)) for number in (1, 2)]
    again = [path.name for path in drawings.save(tmp_path / "new" / "folder")]
    assert again[:2] == [f"{file_name(TEXT)}-{number}.png" for number in (3, 4)]
    with Image.open(tmp_path / "new" / "folder" / names[3]) as image:
        assert np.array_equal(np.asarray(image), drawings[3].pixels)
        assert (image.text["Description"], image.text["Comment"]) == (OTHER, "seed 2")
    assert file_name("../etc/passwd: 별 & ☆") == "etc-passwd-별"
    assert file_name("☆/..") == "drawing"


def test_a_sheet_has_every_drawing(drawer):
    one_text, texts = drawer.draw(TEXT, samples=5), drawer.draw([TEXT, OTHER], samples=3)
    assert one_text.sheet().width * 2 > one_text.sheet().height * 2 > one_text.sheet().width, "nearly a square"
    sheet = np.asarray(texts.sheet())
    factor = sheet.shape[0] // (2 * (SIZE + 2) + 2)
    assert sheet.shape[:2] == ((2 * (SIZE + 2) + 2) * factor, (3 * (SIZE + 2) + 2) * factor)
    shrunk, step = sheet[::factor, ::factor], SIZE + 2
    for number, one in enumerate(texts):
        top, left = 2 + number // 3 * step, 2 + number % 3 * step
        assert np.array_equal(shrunk[top : top + SIZE, left : left + SIZE], one.pixels)


def test_notebooks_show_them(drawer):
    drawings = drawer.draw(TEXT, samples=2)
    shown = drawings._repr_html_()
    assert shown.count("data:image/png;base64") == 2
    assert TEXT in shown
    assert drawings[0]._repr_png_().startswith(b"\x89PNG")
    assert repr(drawings[0]) == f"Drawn({TEXT!r}, 32 × 32 pixels, seed 1)"


def test_scores_are_those_of_the_task(drawer):
    store = next(iter(drawer.task.open_split("val").values()))
    told: list[int] = []
    scores = drawer.score(store, drawer.options, told.append)
    assert scores["loss"] == pytest.approx(drawer.task.metrics(drawer.model, store)["loss"])
    assert scores["bits"] == pytest.approx(scores["loss"] / np.log(2))
    assert (scores["images"], sum(told)) == (len(store), len(store))


def test_guidance_is_refused_where_text_is_written():
    translator = jumok.load("ko-en")
    guided = translator.options.changed({"guidance": 3.0})
    with pytest.raises(ConfigError, match=r"decoding\.guidance = 3 is for drawing"):
        translator.translate("안녕", options=guided)
    with pytest.raises(ConfigError, match=r"decoding\.guidance"):
        list(translator.stream("안녕", options=guided))
