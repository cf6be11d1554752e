"""Train a PatchTST in a plain loop, timed: python train_plain_forecasting.py JOB.json

What a good tutorial would write: a Dataset that slices windows out of a scaled array, a DataLoader that shuffles, unfold for
the patches of each variable, nn.TransformerEncoder, a flat head, the squared error, AdamW. Sizes, dropout, norms before each
part and the window's norm (mean and deviation, Kim et al. 2022) are those of jumok's model. Weights of attention are not
dropped, as in PatchTST's own code: torch would leave its fused attention otherwise.
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from stopwatch import EnoughError, Stopwatch, read_job, write_result
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

# B windows · L look-back · H horizon · V variables · N patches · D width

LEAST = 1e-5  # deviation of a window


class WindowSet(Dataset[tuple[Tensor, Tensor]]):
    """Every window of a table (rows, V)."""

    def __init__(self, table: Tensor, *, look_back: int, horizon: int) -> None:
        self.table, self.look_back, self.horizon = table, look_back, horizon

    def __len__(self) -> int:
        return len(self.table) - self.look_back - self.horizon + 1

    def __getitem__(self, first: int) -> tuple[Tensor, Tensor]:
        middle = first + self.look_back
        return self.table[first:middle], self.table[middle : middle + self.horizon]


class PatchTST(nn.Module):
    """Patches of one variable look at each other (Nie et al. 2023); the same weights for all variables."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.patch, self.stride, width = sizes["patch"], sizes["stride"], sizes["width"]
        self.normed = sizes["window"] == "mean-std"
        self.short = -(sizes["look_back"] - self.patch) % self.stride  # values before the first patch comes out even
        count = (sizes["look_back"] + self.short - self.patch) // self.stride + 1
        self.embed = nn.Linear(self.patch, width)
        self.positions = nn.Parameter(torch.randn(count, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width,
            sizes["heads"],
            sizes["feedforward"],
            sizes["dropout"],
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        layer.self_attn.dropout = 0.0
        self.encoder = nn.TransformerEncoder(
            layer, sizes["layers"], norm=nn.LayerNorm(width), enable_nested_tensor=False
        )
        self.dropout, self.head_dropout = nn.Dropout(sizes["dropout"]), nn.Dropout(sizes["head_dropout"])
        self.project = nn.Linear(count * width, sizes["horizon"])

    def forward(self, past: Tensor) -> Tensor:
        """Return the forecast (B, H, V) of past (B, L, V)."""
        if self.normed:
            mean = past.mean(dim=1, keepdim=True)
            deviation = past.std(dim=1, keepdim=True, correction=0).clamp(min=LEAST)
            past = (past - mean) / deviation
        series = past.transpose(1, 2)
        if self.short:
            series = F.pad(series, (self.short, 0), mode="replicate")
        patches = series.unfold(2, self.patch, self.stride)  # (B, V, N, patch)
        tokens = self.dropout(self.embed(patches.flatten(0, 1)) + self.positions)  # (B · V, N, D)
        states = self.encoder(tokens).flatten(1)
        forecast: Tensor = self.project(self.head_dropout(states)).view(*series.shape[:2], -1).transpose(1, 2)
        return forecast * deviation + mean if self.normed else forecast


def main() -> None:
    """Do the job."""
    job = read_job()
    torch.manual_seed(1)
    sizes = job["sizes"]
    model = PatchTST(sizes).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=job["learning_rate"], weight_decay=job["weight_decay"])
    windows = WindowSet(torch.from_numpy(np.load(job["table"])), look_back=sizes["look_back"], horizon=sizes["horizon"])
    loader = DataLoader(windows, batch_size=job["batch_size"], shuffle=True, drop_last=True)

    def measure(batch: tuple[Tensor, Tensor]) -> tuple[int, int, int]:
        return len(batch[0]), len(batch[0]), len(batch[0])

    stopwatch = Stopwatch(job, measure)
    try:
        while True:
            for past, future in stopwatch.through(loader):
                loss = F.mse_loss(model(past), future)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(model.parameters(), job["clip"])
                optimizer.step()
    except EnoughError:
        write_result(job, stopwatch, model=model, version=torch.__version__)


if __name__ == "__main__":
    main()
