"""Train a library's own Transformer in a plain loop, timed: .peers/bin/python train_loop.py JOB.json

What a careful user would write around torch.nn.Transformer, Hugging Face's Marian or x-transformers, which bring no
trainer for this: batches by tokens out of length buckets, Adam with warm-up, clipping, label smoothing.
"""

import math
import random
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from stopwatch import EnoughError, Stopwatch, products, read_job, write_result
from torch import Tensor, nn

PAD, START, END = 0, 2, 3
FIRST = 4  # of the vocabulary's own tokens
Pair = tuple[list[int], list[int]]


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with what it leaves to its user: embeddings, positions, the output."""

    def __init__(self, vocabulary: int, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.width = sizes["width"]
        self.table = nn.Embedding(vocabulary, self.width)
        nn.init.normal_(self.table.weight, std=self.width**-0.5)
        self.body = nn.Transformer(
            self.width, sizes["heads"], sizes["layers"], sizes["layers"], sizes["feedforward"], sizes["dropout"],
            batch_first=True, norm_first=True,
        )  # fmt: skip
        self.dropout = nn.Dropout(sizes["dropout"])
        places = torch.arange(512)[:, None] * torch.exp(
            torch.arange(0, self.width, 2) * (-math.log(10_000) / self.width)
        )
        self.register_buffer("places", torch.stack([places.sin(), places.cos()], dim=-1).flatten(1))

    def embed(self, tokens: Tensor) -> Tensor:
        """Return (B, T, D) of tokens (B, T)."""
        embedded: Tensor = self.dropout(self.table(tokens) * math.sqrt(self.width) + self.places[: tokens.shape[1]])  # type: ignore[index]
        return embedded

    def forward(self, source: Tensor, inputs: Tensor) -> Tensor:
        """Return logits (B, T, V)."""
        hidden = source == PAD
        mask = nn.Transformer.generate_square_subsequent_mask(inputs.shape[1], dtype=torch.bool)
        states = self.body(
            self.embed(source), self.embed(inputs), tgt_mask=mask, src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden, tgt_is_causal=True,
        )  # fmt: skip
        return F.linear(states, self.table.weight)


class Marian(nn.Module):
    """Hugging Face's Marian."""

    def __init__(self, vocabulary: int, sizes: dict[str, Any]) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        layers = {"encoder_layers": sizes["layers"], "decoder_layers": sizes["layers"]}
        heads = {"encoder_attention_heads": sizes["heads"], "decoder_attention_heads": sizes["heads"]}
        hidden = {"encoder_ffn_dim": sizes["feedforward"], "decoder_ffn_dim": sizes["feedforward"]}
        self.body = MarianMTModel(
            MarianConfig(
                vocab_size=vocabulary, d_model=sizes["width"], **layers, **heads, **hidden, dropout=sizes["dropout"],
                activation_function="relu", scale_embedding=True, pad_token_id=PAD, eos_token_id=END,
                decoder_start_token_id=START, forced_eos_token_id=None, max_position_embeddings=512,
                attn_implementation="sdpa",
            )
        )  # fmt: skip

    def forward(self, source: Tensor, inputs: Tensor) -> Tensor:
        """Return logits (B, T, V)."""
        answer = self.body(
            input_ids=source, attention_mask=source.ne(PAD).long(), decoder_input_ids=inputs, use_cache=False
        )
        logits: Tensor = answer.logits
        return logits


class Extended(nn.Module):
    """x-transformers' encoder and decoder."""

    def __init__(self, vocabulary: int, sizes: dict[str, Any]) -> None:
        super().__init__()
        from x_transformers import Decoder, Encoder, TransformerWrapper

        shared = {
            "dim": sizes["width"], "depth": sizes["layers"], "heads": sizes["heads"], "attn_flash": True,
            "attn_dim_head": sizes["width"] // sizes["heads"], "ff_mult": sizes["feedforward"] / sizes["width"],
            "layer_dropout": 0.0, "ff_dropout": sizes["dropout"],
        }  # fmt: skip
        self.encoder = TransformerWrapper(
            num_tokens=vocabulary, max_seq_len=512, emb_dropout=sizes["dropout"], return_only_embed=True,
            attn_layers=Encoder(**shared),
        )  # fmt: skip
        self.decoder = TransformerWrapper(
            num_tokens=vocabulary, max_seq_len=512, emb_dropout=sizes["dropout"], tie_embedding=True,
            attn_layers=Decoder(cross_attend=True, **shared),
        )  # fmt: skip
        self.decoder.token_emb = self.encoder.token_emb

    def forward(self, source: Tensor, inputs: Tensor) -> Tensor:
        """Return logits (B, T, V)."""
        mask = source != PAD
        logits: Tensor = self.decoder(inputs, context=self.encoder(source, mask=mask), context_mask=mask)
        return logits


LIBRARIES = {
    "torch.nn.Transformer": (TorchTransformer, "torch"),
    "Marian": (Marian, "transformers"),
    "x-transformers": (Extended, "x-transformers"),
}


def read_pairs(folder: Path, split: str) -> list[Pair]:
    """Return the ids of a split's pairs, end tokens included."""
    words = (folder / "vocabulary").read_text(encoding="utf-8").split("\n")[:-1]
    numbers = {word: number for number, word in enumerate(words, start=FIRST)}
    sides = [
        [[*(numbers[word] for word in line.split(" ") if word), END] for line in text.split("\n")[:-1]]
        for text in ((folder / f"{split}.{side}").read_text(encoding="utf-8") for side in ("source", "target"))
    ]
    return list(zip(*sides, strict=True))


def epoch(pairs: list[Pair], batch_tokens: int, chance: random.Random) -> list[list[Pair]]:
    """Return the batches of an epoch: pairs of like length, as many as have room with their padding."""
    order = sorted(pairs, key=lambda pair: (max(map(len, pair)), chance.random()))
    batches: list[list[Pair]] = [[]]
    for pair in order:
        if batches[-1] and (len(batches[-1]) + 1) * max(map(len, pair)) > batch_tokens:
            batches.append([])
        batches[-1].append(pair)
    chance.shuffle(batches)
    return batches


def padded(rows: list[list[int]]) -> Tensor:
    """Return rows of ids as one tensor."""
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def main() -> None:
    """Do the job."""
    job = read_job()
    sizes, chance = job["sizes"], random.Random(1)
    pairs = read_pairs(Path(job["folder"]), "train")
    torch.manual_seed(1)
    kind, library = LIBRARIES[job["library"]]
    model = kind(sizes["vocabulary"], sizes).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=sizes["learning_rate"], betas=(0.9, 0.98), eps=1e-9)
    waiting: list[list[Pair]] = []

    def batch() -> tuple[Tensor, Tensor, Tensor]:
        if not waiting:
            waiting.extend(epoch(pairs, sizes["batch_tokens"], chance))
        source, target = zip(*waiting.pop(), strict=True)
        targets = padded(list(target))
        return padded(list(source)), F.pad(targets[:, :-1], (1, 0), value=START), targets

    stopwatch = Stopwatch(job, lambda item: (len(item[2]), int(item[2].ne(PAD).sum()), item[2].numel()))
    try:
        step = 0
        while True:
            step += 1
            source, inputs, targets = stopwatch.take(batch)
            for group in optimizer.param_groups:
                group["lr"] = sizes["learning_rate"] * min(step / sizes["warmup"], math.sqrt(sizes["warmup"] / step))
            with products(job):
                loss = F.cross_entropy(
                    model(source, inputs).flatten(0, 1), targets.flatten(), ignore_index=PAD,
                    label_smoothing=sizes["label_smoothing"],
                )  # fmt: skip
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), sizes["clip"])
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            loss.item()  # a loop that shows its loss waits for it
    except EnoughError:
        write_result(job, stopwatch, model=model, version=version(library))


if __name__ == "__main__":
    main()
