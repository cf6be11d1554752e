"""A Transformer as two ONNX graphs: one reads the source, one writes the next token.

encoder.onnx   source (B, S), mask (B, S) → keys, values (L, B, H, S, d): what every decoder layer looks at
decoder.onnx   tokens (B, 1), past keys and values (L, B, H, T, d), those of the encoder, mask
               → log-probabilities (B, V), keys and values with one place more
"""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from jumok.data.text.tokenizer import END, PAD, START
from jumok.errors import MissingExtraError
from jumok.export.supported import supported_transformer
from jumok.models.transformer import Transformer
from jumok.nn.attention import CrossAttention, SelfAttention
from jumok.nn.embeddings import Embedding
from jumok.nn.masks import padding_mask
from jumok.nn.model import Model
from jumok.nn.transformer import DecoderLayer

# B batch · S source · T written so far · L layers · H heads · d head width · V vocabulary


class SourceGraph(nn.Module):
    """The encoder, and the keys and values of its states."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values (L, B, H, S, d) of source (B, S) where mask (B, S) is True."""
        states = _embed(self.model.embed_source, source, torch.arange(source.shape[1]))
        for layer in self.model.encoder.layers:
            states = layer(states, mask[:, None, None, :])
        if self.model.encoder.final is not None:
            states = self.model.encoder.final(states)
        pairs = [layer.cross.remember(states) for layer in decoder_layers(self.model)]
        return torch.stack([key for key, _ in pairs]), torch.stack([value for _, value in pairs])


class StepGraph(nn.Module):
    """The decoder, one token on."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, tokens: Tensor, keys: Tensor, values: Tensor, source_keys: Tensor, source_values: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return log-probabilities (B, V) after tokens (B, 1), and all keys and values (L, B, H, T + 1, d)."""
        x = _embed(self.model.embed_target, tokens, torch.full((1,), keys.shape[3], dtype=torch.int64))
        new_keys, new_values = [], []
        for number, layer in enumerate(decoder_layers(self.model)):
            attention = layer.attention

            def look_back(y: Tensor, number: int = number, attention: SelfAttention = attention) -> Tensor:
                query, key, value = attention.query_key_value(y).split(attention.sizes, dim=-1)
                key = torch.cat([keys[number], attention.split(key, attention.head_width)], dim=2)
                value = torch.cat([values[number], attention.split(value, attention.value_width)], dim=2)
                new_keys.append(key)
                new_values.append(value)
                mixed: Tensor = attention.mix(
                    attention.split(query, attention.head_width), key, value, None, causal=False
                )
                return mixed

            def look_over(y: Tensor, number: int = number, cross: CrossAttention = layer.cross) -> Tensor:
                query = cross.split(cross.query(y), cross.head_width)
                mixed: Tensor = cross.mix(
                    query, source_keys[number], source_values[number], mask[:, None, None, :], causal=False
                )
                return mixed

            x = layer.around_attention(x, look_back, None)
            x = layer.around_cross(x, look_over, None)
            x = layer.around_feedforward(x, layer.feedforward, None)
        if self.model.decoder.final is not None:
            x = self.model.decoder.final(x)
        logits = self.model.project(x[:, 0])
        return logits.log_softmax(dim=-1), torch.stack(new_keys), torch.stack(new_values)


def decoder_layers(model: Transformer) -> list[DecoderLayer]:
    """Return the decoder's layers by their class, which torch.nn.ModuleList does not tell."""
    return [layer for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]


def _embed(embedding: Embedding, tokens: Tensor, places: Tensor) -> Tensor:
    """Return (B, T, D) of tokens (B, T) at places (T,), without the checks that a graph cannot hold."""
    embedded: Tensor = embedding.table(tokens) * embedding.scale
    positions = embedding.positions
    if positions.kind == "none":
        return embedded
    encoding: Tensor = positions.table[places] if positions.kind == "learned" else positions.encode(places)
    return embedded + encoding


def write_onnx(model: Model[Any], folder: Path) -> None:
    """Write the two graphs of a Transformer into folder."""
    transformer = supported_transformer(model, "jumok's ONNX export")
    config = transformer.config
    _need("onnxscript")
    folder.mkdir(parents=True, exist_ok=True)
    heads, width, layers = config.heads, config.width // config.heads, config.depths[1]
    source, mask = torch.ones(2, 5, dtype=torch.int64), torch.ones(2, 5, dtype=torch.bool)
    # Each a tensor of its own: the exporter takes one given twice for one input.
    past = [torch.zeros(layers, 2, heads, 3, width) for _ in range(2)]
    read = [torch.zeros(layers, 2, heads, 5, width) for _ in range(2)]
    batch, sources, written = (torch.export.Dim(name, min=1, max=65_536) for name in ("batch", "sources", "written"))
    grown, beside = {1: batch, 3: written}, {1: batch, 3: sources}
    with warnings.catch_warnings(), _quiet("torch.onnx"), torch.inference_mode():
        warnings.simplefilter("ignore")  # the exporter talks about itself, and about libraries nobody asked for
        for graph, arguments, shapes, inputs, outputs in (
            (
                SourceGraph(transformer),
                (source, mask),
                ({0: batch, 1: sources},) * 2,
                ["source", "mask"],
                ["keys", "values"],
            ),
            (
                StepGraph(transformer),
                (torch.ones(2, 1, dtype=torch.int64), *past, *read, mask),
                ({0: batch}, grown, grown, beside, beside, {0: batch, 1: sources}),
                ["tokens", "keys", "values", "source_keys", "source_values", "mask"],
                ["log_probabilities", "all_keys", "all_values"],
            ),
        ):
            name = "encoder.onnx" if isinstance(graph, SourceGraph) else "decoder.onnx"
            torch.onnx.export(
                graph.eval(),
                arguments,
                folder / name,
                input_names=inputs,
                output_names=outputs,
                dynamic_shapes=shapes,
                dynamo=True,
                external_data=False,
                verbose=False,
            )


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Let a logger tell errors only inside the block."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _need(library: str) -> None:
    from importlib.util import find_spec

    if find_spec(library) is None:
        raise MissingExtraError(library, "onnx", "this export")


def write_greedily(
    folder: Path, sources: Sequence[Sequence[int]], limits: Sequence[int]
) -> list[tuple[list[int], float]]:
    """Return what the graphs write, always the likeliest token, and its mean log-probability: the end included."""
    _need("onnxruntime")
    import onnxruntime

    encoder, decoder = (
        onnxruntime.InferenceSession(str(folder / f"{part}.onnx"), providers=["CPUExecutionProvider"])
        for part in ("encoder", "decoder")
    )
    found = []
    for ids, limit in zip(sources, limits, strict=True):
        source = np.array([[*ids, END]], dtype=np.int64)
        mask = padding_mask(torch.tensor([source.shape[1]]), source.shape[1]).numpy()
        source_keys, source_values = encoder.run(None, {"source": source, "mask": mask})
        layers, batch, heads, _, width = source_keys.shape
        keys = values = np.zeros((layers, batch, heads, 0, width), dtype=np.float32)
        written, total, token = list[int](), 0.0, START
        while len(written) < limit and token != END:
            scores, keys, values = decoder.run(
                None,
                {
                    "tokens": np.array([[token]], dtype=np.int64),
                    "keys": keys,
                    "values": values,
                    "source_keys": source_keys,
                    "source_values": source_values,
                    "mask": mask,
                },
            )
            scores[:, [PAD, START]] = -np.inf
            token = int(scores[0].argmax())
            written.append(token)
            total += float(scores[0, token])
        found.append((written[:-1] if written[-1] == END else written, total / len(written)))
    return found
