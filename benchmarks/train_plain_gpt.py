"""Train a GPT in a plain loop, timed: python train_plain_gpt.py JOB.json

What a good tutorial would write, from torch.nn parts alone: one file, random blocks, AdamW, no toolkit around it. The
job names the text files, the sizes and the settings; after the last step the model scores the whole val text in blocks.
"""

import math
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from stopwatch import EnoughError, Stopwatch, products, read_job, write_result
from torch import Tensor, nn


class Block(nn.Module):
    """One pre-norm layer: masked self-attention, then feed-forward."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.expand, self.contract = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, D) of x."""
        rows, places, width = x.shape
        parts = self.inputs(self.first_norm(x)).split(width, dim=2)
        query, key, value = (p.view(rows, places, self.heads, -1).transpose(1, 2) for p in parts)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).contiguous().view(rows, places, width))
        return x + self.contract(F.gelu(self.expand(self.second_norm(x))))


class PlainGPT(nn.Module):
    """Embeddings, blocks, a norm, and the embedding again as the output."""

    def __init__(self, vocabulary: int, sizes: dict[str, int]) -> None:
        super().__init__()
        width = sizes["width"]
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(sizes["window"], width)
        self.blocks = nn.ModuleList(Block(width, sizes["heads"], sizes["feedforward"]) for _ in range(sizes["layers"]))
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, vocabulary, bias=False)
        self.project.weight = self.words.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                deep = name.endswith(("output.weight", "contract.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * sizes["layers"]) if deep else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of targets (B, T) given tokens (B, T)."""
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.project(self.norm(x)).flatten(0, 1), targets.flatten())


def learning_rate(step: int, settings: dict[str, Any]) -> float:
    """Return the rate of a step: a straight warm-up, then half a cosine down to the final rate."""
    if step < settings["warmup"]:
        return float(settings["learning_rate"] * (step + 1) / (settings["warmup"] + 1))
    share = (step - settings["warmup"]) / max(settings["steps"] - settings["warmup"], 1)
    low, high = settings["final_learning_rate"], settings["learning_rate"]
    return float(low + 0.5 * (1 + math.cos(math.pi * share)) * (high - low))


@torch.no_grad()
def score(model: PlainGPT, text: Tensor, window: int) -> float:
    """Return the mean loss of text in blocks one after another."""
    blocks = (len(text) - 1) // window
    tokens, targets = text[: blocks * window].view(-1, window), text[1 : blocks * window + 1].view(-1, window)
    sums = [
        float(model(tokens[i : i + 64], targets[i : i + 64])) * len(tokens[i : i + 64]) for i in range(0, blocks, 64)
    ]
    return sum(sums) / blocks


def main() -> None:
    """Do the job."""
    job = read_job()
    sizes, settings = job["sizes"], job["settings"]
    texts = {split: Path(job["folder"], f"{split}.txt").read_text(encoding="utf-8") for split in ("train", "val")}
    letters = {letter: number for number, letter in enumerate(sorted(set("".join(texts.values()))))}
    data = {split: torch.tensor([letters[letter] for letter in text]) for split, text in texts.items()}
    torch.manual_seed(job["seed"])
    model = PlainGPT(len(letters), sizes)
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": settings["weight_decay"]}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=settings["learning_rate"], betas=tuple(settings["betas"]))
    window, train = sizes["window"], data["train"]

    def batch() -> tuple[Tensor, Tensor]:
        starts = torch.randint(len(train) - window, (settings["rows"],)).tolist()
        tokens = torch.stack([train[start : start + window] for start in starts])
        return tokens, torch.stack([train[start + 1 : start + 1 + window] for start in starts])

    stopwatch = Stopwatch(job, lambda pair: (len(pair[0]), pair[1].numel(), pair[1].numel()))
    scores = {}
    try:
        for step in range(settings["steps"]):
            tokens, targets = stopwatch.take(batch)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, settings)
            with products(job):
                loss = model(tokens, targets)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), settings["clip"])
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            loss.item()  # a loop that shows its loss waits for it
        scores = {"loss": score(model, data["val"], window)}
    except EnoughError:
        pass
    write_result(job, stopwatch, model=model, version="of torch.nn", **scores)


if __name__ == "__main__":
    main()
