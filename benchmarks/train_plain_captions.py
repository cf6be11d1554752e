"""Train a captioner in a plain loop, timed: python train_plain_captions.py JOB.json

What a good tutorial would write: a Dataset of feature maps that lie in memory, a DataLoader that shuffles and pads, an
LSTMCell with an attention module (kind = attend) or an nn.LSTM (kind = tell), logits of every position, cross_entropy,
Adam. Parts and sizes are those of jumok's model, so that both have the same number of parameters.
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from stopwatch import EnoughError, Stopwatch, read_job, write_result
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

# B batch · T target · S cells · E features of a cell · N embedding width · D width · V vocabulary

PAD, START, END = 0, 2, 3


class Captions(Dataset[tuple[Tensor, Tensor]]):
    """Captions, each with the feature map of its image."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.maps = torch.from_numpy(np.load(job["maps"]))  # (N, S, E), float16
        with np.load(job["captions"]) as file:
            self.images, self.ids = torch.from_numpy(file["images"]), torch.from_numpy(file["ids"])
            self.first = file["first"].tolist()

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, number: int) -> tuple[Tensor, Tensor]:
        return self.maps[self.images[number]].float(), self.ids[self.first[number] : self.first[number + 1]]


def collate(items: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    """Return cells (B, S, E), inputs (B, T) and targets (B, T), padded to the longest caption."""
    cells, captions = zip(*items, strict=True)
    inputs = [F.pad(ids, (1, 0), value=START) for ids in captions]
    targets = [F.pad(ids, (0, 1), value=END) for ids in captions]
    return torch.stack(cells), *(pad_sequence(some, batch_first=True, padding_value=PAD) for some in (inputs, targets))


class Attention(nn.Module):
    """v · tanh(W q + U k), softmax, weighted sum."""

    def __init__(self, width: int, seen: int) -> None:
        super().__init__()
        self.of_query, self.of_key = nn.Linear(width, width), nn.Linear(seen, width, bias=False)
        self.vector = nn.Linear(width, 1, bias=False)

    def forward(self, state: Tensor, cells: Tensor, keys: Tensor) -> Tensor:
        """Return the context (B, E) of a state (B, D)."""
        scores = self.vector(torch.tanh(self.of_query(state)[:, None] + keys))  # (B, S, 1)
        return (scores.softmax(dim=1) * cells).sum(dim=1)


class Captioner(nn.Module):
    """Show, Attend and Tell, or Show and Tell, over feature maps."""

    def __init__(self, sizes: dict[str, Any], *, attends: bool) -> None:
        super().__init__()
        seen, narrow, width = sizes["map_width"], sizes["embedding_width"], sizes["width"]
        self.norm = nn.LayerNorm(seen)
        self.embed = nn.Embedding(sizes["vocabulary"], narrow)
        self.begin, self.of_context = nn.Linear(seen, 2 * width), nn.Linear(seen, narrow)
        self.dropout = nn.Dropout(sizes["dropout"])
        self.attends = attends
        if attends:
            self.attention, self.gate = Attention(width, seen), nn.Linear(width, 1)
            self.cell = nn.LSTMCell(2 * narrow, width)
        else:
            self.decoder = nn.LSTM(2 * narrow, width, batch_first=True)
        self.join, self.project = nn.Linear(width + 2 * narrow, narrow), nn.Linear(narrow, sizes["vocabulary"])
        if sizes["tied"]:
            self.project.weight = self.embed.weight

    def forward(self, cells: Tensor, inputs: Tensor) -> Tensor:
        """Return logits (B, T, V) of cells (B, S, E) and inputs (B, T)."""
        cells, words = self.norm(cells), self.dropout(self.embed(inputs))
        pooled = cells.mean(dim=1)
        state, memory = torch.tanh(self.begin(pooled)).chunk(2, dim=1)
        if not self.attends:
            seen = self.dropout(self.of_context(pooled))[:, None].expand(-1, inputs.shape[1], -1)
            start = (state[None].contiguous(), memory[None].contiguous())
            states, _ = self.decoder(torch.cat([words, seen], dim=2), start)
            return self.logits(states, words, seen)
        keys, written = self.attention.of_key(cells), []
        for place in range(inputs.shape[1]):
            context = self.of_context(self.attention(state, cells, keys))
            seen = self.dropout(torch.sigmoid(self.gate(state)) * context)
            state, memory = self.cell(torch.cat([words[:, place], seen], dim=1), (state, memory))
            written.append(self.logits(state, words[:, place], seen))
        return torch.stack(written, dim=1)

    def logits(self, states: Tensor, words: Tensor, seen: Tensor) -> Tensor:
        """Return logits (…, V) of states (…, D), words (…, N) and what was seen (…, N)."""
        joined = torch.tanh(self.join(torch.cat([self.dropout(states), words, seen], dim=-1)))
        logits: Tensor = self.project(self.dropout(joined))
        return logits


def main() -> None:
    """Do the job."""
    job = read_job()
    torch.manual_seed(1)
    model = Captioner(job["sizes"], attends=job["kind"] == "attend").train()
    optimizer = torch.optim.Adam(model.parameters(), lr=job["learning_rate"])
    loader = DataLoader(Captions(job), batch_size=job["batch_size"], shuffle=True, collate_fn=collate)

    def measure(batch: tuple[Tensor, Tensor, Tensor]) -> tuple[int, int, int]:
        targets = batch[2]
        return len(targets), int((targets != PAD).sum()), targets.numel()

    stopwatch = Stopwatch(job, measure)
    try:
        while True:
            for cells, inputs, targets in stopwatch.through(loader):
                logits = model(cells, inputs)
                loss = F.cross_entropy(
                    logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=job["label_smoothing"]
                )
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(model.parameters(), job["clip"])
                optimizer.step()
    except EnoughError:
        write_result(job, stopwatch, model=model, version=torch.__version__)


if __name__ == "__main__":
    main()
