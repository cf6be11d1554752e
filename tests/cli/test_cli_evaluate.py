"""`jumok evaluate`: the table and the JSON say the same, for splits and for files of one's own."""

import json
import re

import pytest
from cli.conftest import SMALL_RECIPE, jumok, write_lines

from jumok.data.builtin.toys import pairs


def scores_of(*arguments) -> dict:
    done = jumok("evaluate", *arguments, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_the_table_and_the_json_agree(copy_run):
    done = jumok("evaluate", copy_run, "--split", "test")
    scores = scores_of(copy_run, "--split", "test")["copy"]
    assert done.code == 0
    assert done.out.startswith("copy (test), 200 sentences, beam 2\n")
    assert f"  exact match (test): {scores['exact_match']:.1f} %\n" in done.out
    shown = re.search(r"BLEU (\S+)   chrF (\S+)   loss (\S+)   perplexity (\S+)", done.out).groups()
    assert [float(value) for value in shown] == pytest.approx(
        [scores[name] for name in ("bleu", "chrf", "loss", "perplexity")], abs=0.006
    )
    assert scores["bleu_signature"] in done.out
    assert scores["chrf_signature"] in done.out
    for bucket in scores["by_length"]:
        row = [
            f"{bucket['shortest']}-{bucket['longest']}",
            str(bucket["sentences"]),
            f"{bucket['bleu']:.2f}",
            f"{bucket['exact_match']:.1f}",
        ]
        assert re.search(r"\s+".join(map(re.escape, row)), done.out)


def test_it_has_learnt_to_copy(copy_run):
    scores = scores_of(copy_run, "--split", "test")["copy"]
    assert scores["exact_match"] > 90.0
    assert scores["bleu"] > 94.0
    assert scores["loss"] < 0.1


def test_val_is_the_default_and_buckets_hold_every_sentence(copy_run):
    scores = scores_of(copy_run)
    assert scores == scores_of(copy_run, "--split", "val")
    assert sum(bucket["sentences"] for bucket in scores["copy"]["by_length"]) == scores["copy"]["sentences"] == 200
    assert scores["copy"]["exact_match"] == pytest.approx(
        sum(bucket["exact_match"] * bucket["sentences"] for bucket in scores["copy"]["by_length"]) / 200
    )


def test_decoding_options_count(copy_run):
    assert scores_of(copy_run, "--beam", 1)["copy"]["decoding"]["beam"] == 1
    assert scores_of(copy_run, "--length-penalty", 0.5)["copy"]["decoding"]["length_penalty"] == 0.5


def test_an_earlier_checkpoint_scores_worse(copy_run):
    early, late = (scores_of(copy_run, "--checkpoint", name)["copy"]["loss"] for name in ("step-150", "last"))
    assert early > late


def test_files_of_ones_own_score_like_the_split_they_hold(copy_run, tmp_path):
    test = pairs("copy", "test")
    source = write_lines(tmp_path / "my.source", [source for source, _ in test])
    target = write_lines(tmp_path / "my.target", [target for _, target in test])
    found = scores_of(copy_run, "--source", source, "--target", target)
    assert found == {"my.target": scores_of(copy_run, "--split", "test")["copy"]}
    done = jumok("evaluate", copy_run, "--source", source, "--target", target)
    assert "exact match (files): " in done.out


def test_references_count_and_so_do_empty_lines(copy_run, tmp_path):
    source = write_lines(tmp_path / "s", ["a b", "", "c d", "e"])
    target = write_lines(tmp_path / "t", ["a b", "", "x", "y"])
    scores = scores_of(copy_run, "--source", source, "--target", target)["t"]
    assert (scores["sentences"], scores["exact_match"]) == (4, 50.0)


def test_what_does_not_fit_is_refused(copy_run, small, tmp_path):
    source = write_lines(tmp_path / "s", ["a b c d e f", "c d"])
    target = write_lines(tmp_path / "t", ["a b c d e f", "c d", "e f g h i"])
    done = jumok("evaluate", copy_run, "--source", source, "--target", target)
    assert done == (2, "", (
        "jumok: s has 2 lines and t 3; a parallel corpus needs the same number.\n"
        "       They match in length up to the last line of s: its end seems to be missing.\n"
    ))  # fmt: skip
    done = jumok("evaluate", copy_run, "--source", source)
    assert done == (2, "", "jumok: --source and --target belong together: two files with the same number of lines\n")
    done = jumok("evaluate", copy_run, "--split", "tset")
    assert done == (2, "", "jumok: --split tset: must be train, val or test\n")
    run = small.parent / "run"
    assert jumok("train", small, "--out", run).code == 0
    done = jumok("evaluate", run, "--split", "test")
    assert done == (
        2,
        "",
        "jumok: the recipe has no test data; add test = {…} to [data], or give --source and --target\n",
    )


def test_val_files_of_one_name_in_two_folders_are_both_scored(small):
    folder = small.parent
    (folder / "other").mkdir()
    for side, text in (("digits", "1"), ("words", "one")):
        write_lines(folder / "other" / f"val.{side}", [text] * 3)
    first, second = ({"source": f"{place}val.digits", "target": f"{place}val.words"} for place in ("", "other/"))
    text = SMALL_RECIPE.replace('val = { source = "val.digits", target = "val.words" }', "")
    tables = "".join(
        f"[[data.val]]\nsource = '{val['source']}'\ntarget = '{val['target']}'\n" for val in (first, second)
    )
    small.write_text(text + tables, encoding="utf-8")
    assert jumok("train", small, "--out", folder / "run").code == 0
    scores = scores_of(folder / "run")
    assert sorted(found["sentences"] for found in scores.values()) == [3, 6]


def test_data_that_has_moved_is_found_again(small, tmp_path):
    run, moved = tmp_path / "run", tmp_path / "moved"
    assert jumok("train", small, "--out", run).code == 0
    before = scores_of(run)
    small.parent.rename(moved)
    done = jumok("evaluate", run)
    assert done.code == 2
    assert "val.digits was not found; looked at" in done.err
    assert scores_of(run, "--data", moved) == before
    assert set(before) == {"val.digits"}
