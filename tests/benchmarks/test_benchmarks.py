"""What benchmarks make of what they measured: ratios, tables, products, pairs of runs."""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import contest  # noqa: E402
import precision  # noqa: E402
import precision_table  # noqa: E402
import products  # noqa: E402


def record(toolkit, kind, speeds, *, threads=2, waits=0.0):
    """Return a record of each round."""
    return [
        {
            "round": number, "event": "tiny", "toolkit": toolkit, "precision": kind, "threads": threads, "version": "1",
            "parameters": 7, "steps": 1, "target_tokens": speed, "target_cells": speed, "step_seconds": 1.0,
            "whole_seconds": 1.0 + waits, "peak_memory": 1,
        }
        for number, speed in enumerate(speeds)
    ]  # fmt: skip


RECORDS = [
    *record("jumok", "fp32", (10, 12, 11)),
    *record("jumok", "bf16", (20, 30, 22)),
    *record("jumok, one batch", "bf16", (90, 90, 90)),
    *record("slow", "fp32", (9, 9, 9), threads=1),
    *record("slow", "fp32", (5, 6, 5.5)),
    *record("slow", "bf16", (2, 2, 2)),
    *record("narrow", "fp32", (4, 4, 4)),
    *record("narrow", "bf16", (10, 10, 11)),
]


def test_jumok_at_its_best_is_set_beside_the_fastest_peer_in_fp32_and_at_its_best():
    assert contest.verdicts(RECORDS, "trains") == [
        "tiny: jumok in bf16 trains 2.44 (2.22–3.33) × as fast as slow in fp32, the fastest peer in fp32",
        "tiny: jumok in bf16 trains 2.00 (2.00–3.00) × as fast as narrow in bf16, the fastest peer at its best precision",
        "tiny: jumok in fp32 trains 1.22 (1.11–1.33) × as fast as slow in fp32, the fastest peer in fp32",
    ]


def test_where_all_is_fp32_nothing_is_said_of_precision():
    plain = [one for one in RECORDS if one["precision"] == "fp32"]
    assert contest.verdicts(plain, "trains") == [
        "tiny: jumok trains 1.22 (1.11–1.33) × as fast as slow, the fastest peer"
    ]


def test_each_precision_has_a_row_and_only_jumok_at_its_best_has_no_ratio():
    rows = contest.summarise(RECORDS)
    ratios = {(row["toolkit"], row["precision"]): row.get("ratio", {}).get("median") for row in rows}
    assert ratios["jumok", "bf16"] is None
    assert ratios["jumok", "fp32"] == pytest.approx(2.0)
    assert ratios["slow", "bf16"] == pytest.approx(11.0)
    assert {row["threads"] for row in rows if row["toolkit"] == "slow" and row["precision"] == "fp32"} == {1}


@pytest.mark.parametrize(("waits", "heads"), [(0.0, 1), (0.5, 3)])
def test_a_table_has_the_unit_it_is_given_and_columns_of_data_only_where_data_take_time(waits, heads):
    records = [*record("jumok", "fp32", (3,)), *record("peer", "fp32", (2,), waits=waits)]
    text = contest.table(contest.summarise(records), "search", "sentences/s")
    assert "target tokens/s" not in text
    assert sum(name in text for name in ("sentences/s", "data included", "padding")) == heads
    assert {line.count("|") for line in text.splitlines()} == {7 + heads + 1}


def test_a_processor_is_named_with_the_instructions_that_matter(tmp_path, monkeypatch):
    monkeypatch.delenv(contest.HELD_TO, raising=False)
    cpuinfo = tmp_path / "cpuinfo"
    core = "cpu family\t: 26\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512_bf16 avx512_vnni clzero\n"
    cpuinfo.write_text(f"{core}\n{core}", encoding="utf-8")
    assert contest.processor(cpuinfo) == "AMD EPYC (family 26; avx2 avx512_bf16 avx512_vnni)"
    monkeypatch.setenv(contest.HELD_TO, "AVX512_CORE")
    assert contest.processor(cpuinfo).endswith("avx512_vnni; oneDNN held to AVX512_CORE)")


def test_onednn_is_held_to_instructions_before_anything_is_measured(monkeypatch):
    monkeypatch.setenv(contest.HELD_TO, "ALL")
    parser = argparse.ArgumentParser()
    contest.add_options(parser, "part", rounds=5, precisions=("fp32", "int8"))
    given = parser.parse_args(["--isa", "AVX512_CORE_BF16", "--precisions", "int8"])
    assert os.environ[contest.HELD_TO] == "AVX512_CORE_BF16"
    assert (given.rounds, given.threads, given.precisions, given.out.name) == (5, [2], ["int8"], "part")


TOLD = """\
onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:1
onednn_verbose,v1,primitive,create_nested:cache_miss,cpu,matmul,brg:avx512_core,undef,src:f32,,,4x2:2x3,0.2
onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avx512_core_bf16,undef,src:bf16 wei:bf16,attr:user,,4x2:2x3,0.5
onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avx512_core,undef,src:f32,attr:user,,5x4x2:5x2x3,1
onednn_verbose,v1,primitive,exec,cpu,inner_product,brg,forward_inference,src:f32,attr:user,,mb4ic2oc3,0.25
onednn_verbose,v1,primitive,exec,cpu,convolution,jit,forward_training,src:f32,attr:user,alg:convolution_direct,mb2_ic3oc5_ih8oh4kh2sh2dh0ph0_iw8ow4kw2sw2dw0pw0,1
onednn_verbose,v1,primitive,exec,cpu,rnn,ref,backward,src:f32,attr:user,alg:vanilla_lstm direction:unidirectional_left2right activation:undef flags:,l1t5mb2sic3slc4dhc3dic3,1
onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32,attr:user,,96x3x4x4,9
MKL_VERBOSE SGEMM(T,N,3,4,2,0x7ffc,0x55cd,128,0x7fec,128,0x7ffc,0x7fec,384) 40.00us CNR:OFF Dyn:0 FastMM:1 TID:0  NThr:1
MKL_VERBOSE SGEMM_BATCH(N,N,0x7ffc,0x7ffd,0x7ffe,0x7fff) 2.00ms CNR:OFF Dyn:0 FastMM:1 TID:0  NThr:1
"""


def test_products_are_read_from_what_onednn_and_mkl_tell():
    one = 2 * 4 * 2 * 3
    convolution, lstm = 2 * 2 * 3 * 5 * 4 * 4 * 2 * 2, 2 * 2 * 4 * (5 * 2 * 3) * (3 + 4)
    told = list(products.read(TOLD))
    assert [product.operations for product in told] == [one, 5 * one, one, convolution, lstm, one, 0.0]
    assert [product.seconds for product in told] == pytest.approx([0.5e-3, 1e-3, 0.25e-3, 1e-3, 1e-3, 40e-6, 2e-3])


LISTEN = """
import sys
import torch
from pathlib import Path
from products import Listener
torch.set_num_threads(1)
a, b = torch.randn(64, 32), torch.randn(32, 48)
listener = Listener(Path(sys.argv[1]))
a @ b
listener.begin()
a @ b
a.bfloat16() @ b.bfloat16()
found = listener.end()
a @ b
print(found, file=sys.stderr)
assert found["operations"] == 2 * 2 * 64 * 32 * 48, found
assert 0 < found["known_seconds"] <= found["product_seconds"]
"""


def test_this_machines_products_are_heard_between_begin_and_end_alone(tmp_path):
    import torch

    if not (torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()):
        pytest.skip("oneDNN and MKL tell, other libraries do not")
    command = [sys.executable, "-c", LISTEN, str(tmp_path / "heard")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(BENCHMARKS), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- pairs of runs


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Let results be kept in a folder of the test's own."""
    monkeypatch.setattr(precision, "HERE", tmp_path)
    return tmp_path / "results" / "precision"


def test_a_shorter_run_has_the_recipes_schedule_in_small():
    from jumok.runs.starting import read_recipe

    for recipe, case in precision.CASES.items():
        whole, asked = read_recipe(recipe).training, precision.Run(recipe, "bf16", 1).settings
        for key in ("steps", "warmup", "evaluate_every"):
            assert asked[key] == case.share * getattr(whole, key), (recipe, key)
        assert asked["steps"] % asked["evaluate_every"] == 0, "the last step is scored"


def test_a_kept_result_stands_until_what_is_asked_changes(results, monkeypatch):
    run = precision.Run("mnist-vit", "bf16", 2)
    assert run.result() is None
    rows = [{"step": 5, "seconds": 60.0, "loss": 2.0}, {"step": 5, "seconds": 61.0, "evaluation": {"accuracy": 97.0}}]
    precision.keep(run, rows, {"accuracy": 98.0}, 11.0)
    found = run.result()
    assert (found["value"], found["floor"], found["curve"], found["losses"]) == (98.0, 11.0, [[5, 97.0]], [[5, 2.0]])
    assert precision.Run("mnist-vit", "bf16", 1).result() is None
    assert precision.Run("mnist-vit", "fp32", 2).result() is None
    assert [path.name for path in results.iterdir()] == ["mnist-vit-bf16-2.json"]
    monkeypatch.setitem(precision.CASES, "mnist-vit", precision.Case("accuracy", (1, 2), "mnist", 0.5))
    assert run.result() is None


def test_pairs_are_compared_on_the_seeds_that_both_have():
    def result(kind, seed, value):
        return {
            "recipe": "shakespeare-char", "precision": kind, "seed": seed, "score": "loss", "steps": 9, "floor": 3.3,
            "value": value, "minutes": 2.0, "curve": [[3, 2.0], [9, value]],
        }  # fmt: skip

    found = [result("fp32", 1, 1.5), result("fp32", 2, 1.7), result("bf16", 1, 1.6), result("bf16", 2, 1.9), result("fp32", 3, 9.0)]  # fmt: skip
    [row] = precision_table.compare(found)
    assert row["seeds"] == [1, 2]
    assert row["difference"] == pytest.approx(0.15)
    assert row["spread"] == {"fp32": pytest.approx(0.2), "bf16": pytest.approx(0.3)}
    assert precision_table.compare([one for one in found if one["precision"] == "fp32"]) == []
    head, rule, line = precision_table.table([row])
    assert head.count("|") == rule.count("|") == line.count("|")
    assert "1.5000 1.7000" in line
    assert "+0.1500" in line


JUMOK = """
import json, pathlib, signal, sys, time
command, out = sys.argv[1], pathlib.Path(sys.argv[sys.argv.index("--out") + 1] if "--out" in sys.argv else sys.argv[2])
if command == "evaluate":
    print(json.dumps({"val": {"exact_match": 50.0, "baselines": {}}}))
    raise SystemExit
out.mkdir(exist_ok=True)
log = out / "metrics.jsonl"
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
begun = len(log.read_text().splitlines()) if log.exists() else 0
for step in range(begun + 1, 7):
    row = {"step": step, "seconds": float(step), "evaluation": {"exact_match": 9.0 * step}}
    with log.open("a") as file:
        file.write(json.dumps(row) + "\\n")
    time.sleep(0.0 if begun else 0.3)
    if stopped:
        raise SystemExit(130)
"""


def test_what_is_broken_off_saves_and_goes_on_to_a_result(results, tmp_path, monkeypatch, capsys):
    """Runs are stopped as Ctrl-C stops them; the same command goes on with each, and a third one has nothing to do."""
    monkeypatch.setattr(precision, "ENTRY", [sys.executable, "-c", JUMOK])
    monkeypatch.setattr(precision, "floor", lambda *_: 1.0)
    command = ["precision.py", "--only", "dates-seq2seq-mlp", "--seeds", "3", "--jobs", "2", "--runs", str(tmp_path / "runs"),
               "--png", str(tmp_path / "figures" / "precision.png"), "--out", str(results)]  # fmt: skip
    monkeypatch.setattr(sys, "argv", command)
    runs = [precision.Run("dates-seq2seq-mlp", kind, 3) for kind in ("fp32", "bf16")]
    logs = [run.folder(tmp_path / "runs") / "metrics.jsonl" for run in runs]

    def interrupted(_):
        deadline = time.monotonic() + 60
        while not all(log.exists() and log.read_text() for log in logs) and time.monotonic() < deadline:
            threading.Event().wait(0.05)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        patch.setattr(precision.time, "sleep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            precision.main()
    assert signal.getsignal(signal.SIGTERM) == before
    assert all(0 < len(log.read_text().splitlines()) < 6 for log in logs)
    assert not any(run.result() for run in runs)
    precision.main()
    assert all(
        [json.loads(line)["step"] for line in log.read_text().splitlines()] == [1, 2, 3, 4, 5, 6] for log in logs
    )
    assert [run.result()["value"] for run in runs] == [50.0, 50.0]
    assert (tmp_path / "figures" / "precision.png").stat().st_size > 1000
    assert "| dates-seq2seq-mlp | exact match, % | 1,200 | 1.00 | 50.00 | 50.00 | +0.00 |" in capsys.readouterr().out
    monkeypatch.setattr(precision.subprocess, "Popen", None)
    monkeypatch.setattr(precision_table, "machine", lambda: {"command": "", "commit": "", "when": ""})
    precision.main()
