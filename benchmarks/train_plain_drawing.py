"""Train a drawer in a plain loop, timed: python train_plain_drawing.py JOB.json

What a good tutorial would write: a Dataset of captions and image codes, a DataLoader that shuffles and pads to the longest
text of the batch, text · begin · codes as one sequence, nn.TransformerEncoder with a causal mask (its fused attention), a
projection on each vocabulary, cross_entropy, AdamW. Sizes, norms before each part, the text's share of the loss and dropped
texts are those of jumok's model.
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from stopwatch import EnoughError, Stopwatch, read_job, write_result
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

# B batch · S text with its start and end · G cells of the grid · D width · V vocabulary · K codes

PAD, START, END = 0, 2, 3


class Drawings(Dataset[tuple[Tensor, Tensor]]):
    """Captions with the codes of their images; some captions are dropped."""

    def __init__(self, path: str, dropped: float) -> None:
        with np.load(path) as file:
            self.ids, self.first = torch.from_numpy(file["ids"]), file["first"].tolist()
            self.images, self.codes = torch.from_numpy(file["images"]), torch.from_numpy(file["codes"])
        self.dropped = dropped

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, number: int) -> tuple[Tensor, Tensor]:
        text = self.ids[self.first[number] : self.first[number + 1]]
        if torch.rand(()) < self.dropped:
            text = text[:0]
        return F.pad(F.pad(text, (1, 0), value=START), (0, 1), value=END), self.codes[self.images[number]]


def collate(items: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Return texts (B, S), padded to the longest, and codes (B, G)."""
    texts, codes = zip(*items, strict=True)
    return pad_sequence(list(texts), batch_first=True, padding_value=PAD), torch.stack(codes)


class Drawer(nn.Module):
    """A decoder over text and image tokens."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        width, self.begin, self.columns = sizes["width"], sizes["code_count"], sizes["columns"]
        self.embed_text = nn.Embedding(sizes["vocabulary"], width)
        self.embed_code = nn.Embedding(sizes["code_count"] + 1, width)
        self.places = nn.Parameter(0.02 * torch.randn(sizes["longest_text"] + 2, width))
        self.row, self.column = (nn.Parameter(0.02 * torch.randn(sizes[key], width)) for key in ("rows", "columns"))
        layer = nn.TransformerEncoderLayer(
            width, sizes["heads"], sizes["feedforward"], sizes["dropout"], sizes["activation"], batch_first=True,
            norm_first=True,
        )  # fmt: skip
        self.stack = nn.TransformerEncoder(layer, sizes["layers"], norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.to_code, self.to_text = nn.Linear(width, sizes["code_count"]), nn.Linear(width, sizes["vocabulary"])

    def forward(self, text: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits of the next text token (B, S − 1, V) and of each code (B, G, K)."""
        cells, length = torch.arange(codes.shape[1]), text.shape[1]
        known = F.pad(codes[:, :-1], (1, 0), value=self.begin)
        image = self.embed_code(known) + self.row[cells // self.columns] + self.column[cells % self.columns]
        tokens = torch.cat([self.embed_text(text) + self.places[:length], image], dim=1)
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        states = self.stack(tokens, mask=mask, is_causal=True)
        return self.to_text(states[:, : length - 1]), self.to_code(states[:, length:])


def main() -> None:
    """Do the job."""
    job = read_job()
    torch.manual_seed(1)
    model, share = Drawer(job["sizes"]).train(), job["text_share"]
    optimizer = torch.optim.AdamW(model.parameters(), lr=job["learning_rate"], weight_decay=job["weight_decay"])
    drawings = Drawings(job["drawings"], job["text_dropout"])
    loader = DataLoader(drawings, batch_size=job["batch_size"], shuffle=True, drop_last=True, collate_fn=collate)

    def measure(batch: tuple[Tensor, Tensor]) -> tuple[int, int, int]:
        return len(batch[0]), len(batch[0]), len(batch[0])

    stopwatch = Stopwatch(job, measure)
    try:
        while True:
            for text, codes in stopwatch.through(loader):
                of_text, of_image = model(text, codes)
                loss = (1 - share) * F.cross_entropy(of_image.flatten(0, 1), codes.flatten())
                if share:
                    loss = loss + share * F.cross_entropy(
                        of_text.flatten(0, 1), text[:, 1:].flatten(), ignore_index=PAD
                    )
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(model.parameters(), job["clip"])
                optimizer.step()
    except EnoughError:
        write_result(job, stopwatch, model=model, version=torch.__version__)


if __name__ == "__main__":
    main()
