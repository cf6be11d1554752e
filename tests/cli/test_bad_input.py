"""Bad input: one clear sentence, exit code 2, nothing half-written (figure 5 of the issue that founded jumok)."""

import fcntl
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from cli.conftest import SHIPPED_TOLD, SMALL_RECIPE, Done, jumok, listing, write_lines


@pytest.fixture
def refused(small, tmp_path):
    """Train the small recipe, expect a refusal before anything is written, and return the message."""

    def train(*arguments: object, recipe: Path = small) -> str:
        before = listing(tmp_path)
        done = jumok("train", recipe, "--out", tmp_path / "run", *arguments)
        assert done.code == 2, done
        assert done.out == ""
        assert listing(tmp_path) == before, "something was written"
        progress, mark, message = ("\n" + done.err).partition("\njumok: ")
        assert mark
        assert all(line.endswith(" …") for line in progress.split("\n") if line), progress
        return message

    return train


def test_a_missing_file(refused, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (small.parent / "train.words").unlink()
    places = [small.parent, tmp_path, os.environ["JUMOK_DATA_HOME"]]
    assert refused() == (
        f"train.words was not found; looked at {', '.join(f'{place}/train.words' for place in places)}.\n"
        "       Pass --data FOLDER (or set JUMOK_DATA) to say where the files are.\n"
    )
    assert refused("--data", tmp_path / "none") == f"--data {tmp_path}/none: there is no such folder\n"


def test_a_missing_file_of_val_is_missed_before_the_training(refused, small):
    (small.parent / "val.words").unlink()
    assert refused().startswith("val.words was not found; looked at ")


def sevens(folder: Path, without: int) -> None:
    """Write sentences of many lengths and their translations, one of which is missing."""
    generator = random.Random(1)
    source = [" ".join(["7"] * generator.randrange(1, 20)) for _ in range(60)]
    target = [line.replace("7", "seven") for line in source]
    write_lines(folder / "train.digits", source)
    write_lines(folder / "train.words", target[:without] + target[without + 1 :])


def test_unequal_line_counts(refused, small):
    sevens(small.parent, without=59)
    assert refused() == (
        "train.digits has 60 lines and train.words 59; a parallel corpus needs the same number.\n"
        "       They match in length up to the last line of train.words: its end seems to be missing.\n"
    )


def test_unequal_line_counts_name_the_place(refused, small):
    sevens(small.parent, without=31)
    message = refused()
    found = int(message.split("Line ")[1].split(" ")[0])
    assert message == (
        "train.digits has 60 lines and train.words 59; a parallel corpus needs the same number.\n"
        f"       Line {found} of train.words is where they stop matching in length; look there first.\n"
    )
    assert abs(found - 32) <= 1


def test_an_empty_file(refused, small):
    path = small.parent / "train.words"
    path.write_bytes(b"")
    assert refused() == f"{path} is empty; a file with one sentence or row per line is needed.\n"


def test_files_of_empty_lines(refused, small):
    for side in ("digits", "words"):
        write_lines(small.parent / f"train.{side}", [""] * 60)
    assert (
        refused() == "there is no text to train a tokenizer on: every line is empty; check the files of [data] train.\n"
    )


def test_a_binary_file(refused, small):
    path = small.parent / "train.words"
    path.write_bytes(b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\n" * 60)
    assert refused() == f"{path} is a binary file (line 1 holds NUL bytes); plain UTF-8 text is needed.\n"


@pytest.mark.parametrize(
    ("encoding", "text", "name", "flag", "line"),
    [
        ("latin-1", "café", "Latin-1", "LATIN1", 31),
        ("cp949", "넌 누구니", "CP949 (Korean)", "CP949", 31),
        ("utf-16", "a b", "UTF-16", "UTF-16", 1),
    ],
)
def test_a_wrong_encoding(refused, small, encoding, text, name, flag, line):
    path = small.parent / "train.words"
    path.write_bytes("".join(["one\n"] * 30 + [f"{text}\n"] * 30).encode(encoding))
    assert refused() == (
        f"{path} is not UTF-8 (line {line}; it looks like {name}); convert it with\n"
        f"       iconv -f {flag} -t UTF-8 {path} > utf8-train.words\n"
    )


def test_a_gz_file_that_is_cut_off(refused, small):
    import gzip

    path = small.parent / "train.words.gz"
    path.write_bytes(gzip.compress((small.parent / "train.words").read_bytes())[:-20])
    small.write_text(SMALL_RECIPE.replace('"train.words"', '"train.words.gz"'), encoding="utf-8")
    message = refused()
    assert message.startswith(f"{path} is a broken or cut-off gzip file (after line ")
    assert message.endswith("; download or compress it again.\n")


def test_rows_without_the_column(refused, small):
    write_lines(small.parent / "train.tsv", ["1\tone", "2"])
    small.write_text(
        SMALL_RECIPE.replace('source = "train.digits", target = "train.words"', 'file = "train.tsv"'), encoding="utf-8"
    )
    assert refused() == (
        f"{small.parent}/train.tsv line 2 has 1 column (2); columns 0 and 1, counted from 0, are needed. "
        "Set source_column and target_column, or mend the line.\n"
    )


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.widht=3", "small.toml: [model] has no key 'widht'; did you mean 'width'?"),
        ("model.heads=3", "small.toml: model.width (16) must be a multiple of model.heads (3); the nearest below is 15; "
                          "or set model.head_width to free the two"),
        ("training.batch_size=3", "training.batch_size is for images; set training.batch_tokens"),
        ("training.steps=many", "small.toml: training.steps = 'many': must be a whole number"),
        ("data.trian=3", "small.toml: [data] has no key 'trian'; did you mean 'train'?"),
        ("tokenizer.vocabulary=100 tokenizer.kind=bpe", "tokenizer.vocabulary = 100 is too small for kind 'bpe': every byte and 4 special "
                                                        "tokens need at least 260; raise it or choose another kind"),
        ("data.max_length=2", "no pairs are left to work with: 0 of 60 pairs kept (60 dropped: 60 too long); check the files, and "
                              "max_length and max_ratio of [data]."),
        ("model.positions=learned model.max_positions=4",
         "the longest sentence may have 6 tokens, but positions = 'learned' has a table of 4; set model.max_positions = 6, or "
         "data.max_length = 4 to leave longer pairs out"),
        ("training.device=cuda:99", None),
        ("training.device=gpu", "training.device = 'gpu': must be auto, cpu, cuda, cuda:N or mps"),
        ("model.preset=huge", "small.toml: model.preset = 'huge' does not exist; known: base, big, small, tiny"),
        ("model.source_embeddings=none.txt", None),
    ],
)  # fmt: skip
def test_a_recipe_that_cannot_work(refused, override, message):
    found = refused(*(part for each in override.split() for part in ("--set", each)))
    assert message is None or found == f"{message}\n"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "training.batch_tokens=4",
            "is 6 tokens long and training.batch_tokens = 4 has no room for it; set batch_tokens to 6 or more",
        ),
        (
            "training.monitor=blue",
            "training.monitor = 'blue' is not among the scores: loss, perplexity, bleu, chrf, exact_match",
        ),
        ("training.betas=[0.9, 1.5]", "betas"),
    ],
)
def test_a_recipe_that_cannot_work_is_known_before_the_run_is_begun(small, tmp_path, override, message):
    done = jumok("train", small, "--out", tmp_path / "run", "--set", override)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "run").exists()


def test_workers_that_cannot_share_a_batch(refused):
    options = [part for override in ("model.norm=batch", "training.workers=2") for part in ("--set", override)]
    assert refused(*options) == (
        "training.workers = 2: batch norm needs the whole batch in one process; set it to 1, or model.norm = 'layer'\n"
    )


def test_unknown_keys_in_the_file_are_all_named(refused, small):
    small.write_text(
        SMALL_RECIPE.replace("width = 16", "widht = 16").replace("heads = 2", "haeds = 2"), encoding="utf-8"
    )
    assert refused() == (
        "small.toml: [model] has no key 'widht'; did you mean 'width'?\n"
        "       small.toml: [model] has no key 'haeds'; did you mean 'heads'?\n"
    )


def test_recipes_that_are_none(refused, small, tmp_path):
    assert (
        refused(recipe=tmp_path / "none.toml")
        == f"there is no recipe file {tmp_path}/none.toml; jumok list shows the shipped ones\n"
    )
    assert refused(recipe=Path("dates-transfomer")) == (
        "'dates-transfomer' is neither a file nor a shipped recipe; did you mean 'dates-transformer'?\n"
    )
    small.write_text("[data\n", encoding="utf-8")
    assert refused().startswith(f"{small} is not valid TOML: ")


# --- run folders


@pytest.fixture
def run(small, tmp_path) -> Path:
    """A small finished run with two checkpoints."""
    folder = tmp_path / "run"
    assert jumok("train", small, "--out", folder, "--set", "training.save_every=2").code == 0
    return folder


def again(small: Path, run: Path, *options: object) -> Done:
    return jumok("train", small, "--out", run, "--set", "training.save_every=2", *options)


def test_a_run_folder_that_exists(small, run):
    before = listing(run)
    done = again(small, run)
    assert done == (2, "", (
        f"jumok: {run} already holds a run (saved at step 3). Go on with --resume, choose another folder with --out, or remove it.\n"
    ))  # fmt: skip
    assert listing(run) == before


def test_going_on_with_a_changed_recipe(small, run):
    before = listing(run)
    done = again(small, run, "--resume", "--set", "model.dropout=0.3", "--set", "training.steps=2")
    assert done == (2, "", (
        f"jumok: the recipe has changed since {run} was begun:\n"
        "         model.dropout: 0.1 in the run, 0.3 now\n"
        "         training.steps: 3 in the run, 2 now\n"
        "       Only steps may grow and intervals change. Put it back, or start another run with --out.\n"
    ))  # fmt: skip
    assert listing(run) == before


def cut(path: Path) -> int:
    """Cut a file to half its size."""
    size = path.stat().st_size // 2
    os.truncate(path, size)
    return size


def test_weights_that_were_cut_off(run):
    size = cut(run / "step-3" / "model.safetensors")
    place = run / "best" / "model.safetensors"
    message = (
        f"jumok: {place} is damaged ({size:,} bytes; was it cut off while copying?). step-2 is another checkpoint: use --checkpoint step-2, "
        f"or to train on from it remove {run}/step-3 and type: ln -sfn step-2 {run}/last\n"
    )
    for command in (["translate", run, "1"], ["evaluate", run], ["look", run, "1"]):
        assert jumok(*command) == (2, "", message)
    assert jumok("translate", run, "1", "--checkpoint", "step-2").code == 0  # what the message advises


def test_going_on_from_a_damaged_checkpoint(small, run):
    size = cut(run / "step-3" / "training.safetensors")
    before = listing(run)
    done = again(small, run, "--resume", "--set", "training.steps=4")
    assert done.code == 2
    assert f"training.safetensors is damaged ({size:,} bytes; was it cut off while copying?)" in done.err
    assert listing(run) == before
    shutil.rmtree(run / "step-3")
    subprocess.run(["ln", "-sfn", "step-2", run / "last"], check=True)  # what the message advises
    done = again(small, run, "--resume", "--set", "training.steps=4")
    assert done.code == 0, done.err
    assert "going on from step 2" in done.err


def test_the_only_checkpoint_gone(run):
    shutil.rmtree(run / "step-2")
    (run / "step-3" / "model.safetensors").unlink()
    place = run / "best" / "model.safetensors"
    assert jumok("translate", run, "1") == (
        2, "", f"jumok: {place} is missing and {run} holds no other checkpoint; copy it again or train anew.\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run.json", "{run}/run.json is damaged (line "),
        ("source.json", "{run}/source.json is damaged ("),
        ("recipe.toml", "recipe.toml"),
    ],
)
def test_other_files_of_a_run_that_were_cut_off(run, name, message):
    cut(run / name)
    done = jumok("translate", run, "1")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("jumok: ")
    assert message.format(run=run) in done.err
    (run / name).unlink()
    assert jumok("translate", run, "1").code == 2


def test_a_recipe_cut_off_where_it_is_still_good_toml(run):
    """Half of the sections are a recipe too, with other decoding than the run was made for."""
    path = run / "recipe.toml"
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[: whole.index("[decoding]")], encoding="utf-8")
    wanted = f"{path} was cut off: its last line is missing; copy the run again"
    assert jumok("translate", run, "1") == (2, "", f"jumok: {wanted}\n")


def test_a_folder_that_is_no_run(tmp_path):
    none = f"there is no run folder {tmp_path}/none; jumok train RECIPE --out {tmp_path}/none makes one"
    assert jumok("translate", tmp_path / "none", "1") == (2, "", f"jumok: {none}{SHIPPED_TOLD}\n")
    assert jumok("evaluate", tmp_path) == (
        2,
        "",
        f"jumok: {tmp_path} is not a run: it has no run.json; jumok train writes it\n",
    )


def test_a_run_of_another_format(run):
    (run / "run.json").write_text('{"format": 99, "data_folders": []}', encoding="utf-8")
    assert f"{run} has run format 99, this jumok (" in jumok("translate", run, "1").err


def test_two_trainings_in_one_folder(small, run):
    before = listing(run)
    handle = os.open(run, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        done = again(small, run, "--resume", "--set", "training.steps=5")
    finally:
        os.close(handle)
    assert done == (2, "", f"jumok: another process is training in {run}; wait for it, or choose another --out\n")
    assert listing(run) == before
    assert again(small, run, "--resume", "--set", "training.steps=5").code == 0  # the lock went with its holder


# --- places that cannot be written


@pytest.mark.parametrize("name", ["a file", "a file/inside"])
def test_a_run_where_a_file_stands(small, tmp_path, name):
    (tmp_path / "a file").write_text("mine", encoding="utf-8")
    done = jumok("train", small, "--out", tmp_path / name)
    assert done.code == 2
    assert f"jumok: the run folder {tmp_path / name} cannot be written: " in done.err
    assert (tmp_path / "a file").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "reason"),
    [("folder", "Is a directory"), ("none/out.txt", "No such file or directory"), ("file/out.txt", "Not a directory")],
)
def test_an_out_file_that_cannot_be_written(copy_run, tmp_path, name, reason):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    before = listing(tmp_path)
    assert jumok("translate", copy_run, "a", "--out", tmp_path / name) == (
        2, "", f"jumok: --out {tmp_path / name} cannot be written: {reason}; choose another file\n"
    )  # fmt: skip
    assert listing(tmp_path) == before


@pytest.fixture
def disk(tmp_path):
    """A disk of its own that is soon full; call it to give it another size."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(size: str, *options: str) -> Path:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", ",".join([*options, f"size={size}"]), "none", place],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            pytest.skip("mounting a small disk needs root")
        return place

    yield mount
    subprocess.run(["umount", place], capture_output=True, check=False)


def test_a_full_disk_at_a_checkpoint(small, disk):
    run = disk("60k") / "run"
    done = jumok("train", small, "--out", run)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(
        f"jumok: the disk of {run} is full: the checkpoint of step 3 could not be written; no checkpoint is there yet. "
        "Free some space, then go on with --resume.\n"
    )
    assert not [path for path in run.iterdir() if "step" in path.name]
    disk("2m", "remount")
    done = jumok("train", small, "--out", run, "--resume")
    assert done.code == 0, done.err
    assert jumok("translate", run, "1 2").code == 0


def test_a_full_disk_after_a_checkpoint_keeps_it(small, disk):
    run = disk("200k") / "run"
    more = ["--set", "training.save_every=1", "--set", "training.steps=9"]
    done = jumok("train", small, "--out", run, *more)
    assert done.code == 2
    kept = sorted(path.name for path in run.glob("step-*"))
    assert f"the disk of {run} is full: the checkpoint of step " in done.err
    assert f"; {kept[-1]} is whole. Free some space, then go on with --resume.\n" in done.err
    assert jumok("translate", run, "1 2", "--checkpoint", "last").code == 0
    disk("2m", "remount")
    done = jumok("train", small, "--out", run, "--resume", *more)
    assert done.code == 0, done.err
    assert f"going on from step {kept[-1].removeprefix('step-')}" in done.err


@pytest.mark.parametrize("size", ["4k", "8k", "12k"])
def test_a_full_disk_before_the_start(small, disk, size):
    run = disk(size) / "run"
    done = jumok("train", small, "--out", run)
    assert done.code == 2
    assert done.err.endswith(
        f"jumok: the disk of {run} is full: the run could not be started; free some space or choose another --out\n"
    )
    assert not (run / "run.json").exists()
    disk("2m", "remount")
    assert jumok("train", small, "--out", run).code == 0


def test_a_full_disk_of_the_cache(small, disk, tmp_path, monkeypatch):
    cache = disk("8k")
    monkeypatch.setenv("JUMOK_CACHE", str(cache))
    done = jumok("train", small, "--out", tmp_path / "run")
    assert done.code == 2
    assert done.err.endswith(
        f"jumok: the disk of the cache folder {cache} is full; free it with jumok cache --clear, or set JUMOK_CACHE to a folder with more room.\n"
    )
    assert not [path for path in cache.iterdir() if path.name.startswith(".")], "half an entry was left"
    assert not (tmp_path / "run").exists()


def test_a_full_disk_for_translations(copy_run, disk):
    out = disk("4k") / "out.txt"
    done = jumok("translate", copy_run, "--out", out, "--max-length", 12, stdin="a b c d e f g h i j\n" * 400)
    assert done == (2, "", f"jumok: --out {out} cannot be written: No space left on device; choose another file\n")
    assert list(out.parent.iterdir()) == []
