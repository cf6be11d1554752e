"""Transformers exported to ONNX: what the graphs write greedily is what the run writes."""

import numpy as np
import pytest
import torch
from export.conftest import SHAPES, make

import jumok
from jumok import api
from jumok.data.text.tokenizer import END, START
from jumok.errors import ConfigError, RunError
from jumok.export import onnx as module
from jumok.tasks.pairs import collate

LINES = ["a b c", "z y x w v", "q", "m n o p a b"]


def check(folder, overrides):
    (folder / "lines.txt").write_text("\n".join(LINES))
    parity = api.export_model(make(folder, *overrides), folder / "graphs", to="onnx", source=folder / "lines.txt")
    assert (parity.sentences, parity.equal) == (4, 4)
    assert parity.largest_difference < 1e-4
    assert {"encoder.onnx", "decoder.onnx", "source.json", "target.json", "parity.json"} == {
        path.name for path in (folder / "graphs").iterdir()
    }


@torch.no_grad()
def test_the_graphs_answer_alike_and_take_any_batch(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    check(tmp_path, SHAPES[1])
    ours = jumok.load(tmp_path / "run")
    batch = collate([(ids, ids) for ids in ours.task.read(LINES)])
    encoder, decoder = (
        onnxruntime.InferenceSession(str(tmp_path / "graphs" / f"{part}.onnx")) for part in ("encoder", "decoder")
    )
    mask = batch.source_mask.numpy()
    source_keys, source_values = encoder.run(None, {"source": batch.source.numpy(), "mask": mask})
    layers, rows, heads, _, width = source_keys.shape
    keys = values = np.zeros((layers, rows, heads, 0, width), dtype=np.float32)
    wanted = ours.model(batch).log_softmax(dim=-1)
    assert (batch.inputs[0, 0], batch.source[0, -1]) == (START, 0)
    assert END in batch.source[0]
    for place in range(batch.inputs.shape[1]):
        given = {"tokens": batch.inputs[:, place : place + 1].numpy(), "keys": keys, "values": values}
        found, keys, values = decoder.run(
            None, {**given, "source_keys": source_keys, "source_values": source_values, "mask": mask}
        )
        real = batch.target_mask[:, place]
        torch.testing.assert_close(torch.from_numpy(found)[real], wanted[:, place][real], atol=1e-4, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("overrides", SHAPES, ids=str)
def test_every_layout_answers_alike(tmp_path, overrides):
    check(tmp_path, overrides)


def test_wrong_graphs_are_refused(tmp_path, monkeypatch):
    run = make(tmp_path)
    (tmp_path / "lines.txt").write_text("\n".join(LINES))
    monkeypatch.setattr("jumok.workflows.export.write_onnx", lambda model, folder: folder.mkdir())
    monkeypatch.setattr(
        "jumok.workflows.export.write_greedily", lambda folder, sources, limits: [([9], -1.0)] * len(sources)
    )
    with pytest.raises(RunError, match="is wrong and was not kept"):
        api.export_model(run, tmp_path / "graphs", to="onnx", source=tmp_path / "lines.txt")
    assert not (tmp_path / "graphs").exists()
    with pytest.raises(ConfigError, match="ONNX export has no Transformer with model"):
        module.write_onnx(jumok.load(make_other(tmp_path)).model, tmp_path / "graphs")


def make_other(folder):
    (folder / "other").mkdir()
    return make(folder / "other", "model.middle_feedforward=true")
