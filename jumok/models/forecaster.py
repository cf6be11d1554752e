"""A Transformer that forecasts series: steps, patches or whole variables are its tokens.

past (B, L, C) → window norm → tokens (B, N, D) → encoder → features → project → raw (B, H, V, P) → head → parameters
              └→ linear shortcut, a ridge regression found before training ────────────→ base (B, H, V) ──┘

steps      a token is what all columns were at one step; H queries, which know what is known of their step, look at the
           encoded steps (or one step after another is fed back: feedback)
patches    a token is a stretch of one variable (Nie et al. 2023); each variable is read by itself, with the same weights
variables  a token is the whole window of one variable (Liu et al. 2024); variables look at each other
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from jumok.config import SeriesModelConfig, check_multiple
from jumok.errors import ConfigError
from jumok.nn.batch import SeriesBatch
from jumok.nn.dropout import Dropout
from jumok.nn.feedforward import Activation
from jumok.nn.forecast_heads import HeadKind, PointLoss, make_head
from jumok.nn.linear import Linear
from jumok.nn.model import SeriesReader
from jumok.nn.positions import Positions
from jumok.nn.transformer import DecoderStack, EncoderStack, LayerOptions
from jumok.nn.window_norm import WindowNorm, ridge_forecast, window_statistics

# B windows · L look-back · H horizon · C columns · V targets · N tokens · D width · P parameters of a value
# F static features · K columns known ahead

SPREAD = 0.02  # of weights at the start


class ForecasterConfig(SeriesModelConfig):
    """Sizes and options of a forecaster."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "small": {"layers": 2, "width": 32, "heads": 4, "feedforward": 64},
        "base": {"layers": 3, "width": 64, "heads": 4, "feedforward": 128},
        "large": {"layers": 3, "width": 128, "heads": 8, "feedforward": 256},
    }

    name: Literal["forecaster"] = "forecaster"
    tokens: Literal["steps", "patches", "variables"] = Field("patches", description="what is a token")
    patch: int = Field(16, ge=1, description="patches: steps of one")
    stride: int = Field(8, ge=1, description="patches: steps from one to the next")
    feedback: bool = Field(False, description="steps: forecast one step after another, each from those before it")
    window: WindowNorm = Field("mean-std", description="what each window is made comparable by; undone at the end")
    linear: bool = Field(True, description="begin from a ridge regression, to which the Transformer adds")
    head: HeadKind = Field("point", description="what is said of a value to come")
    loss: PointLoss = Field("mse", description="point: the error that is made small")
    quantiles: list[float] = Field([0.1, 0.25, 0.5, 0.75, 0.9], min_length=1, description="quantiles: their levels")
    ways: int = Field(20, ge=2, description="mixture: how many ways a window may go")
    layers: int = Field(3, ge=1)
    width: int = Field(64, ge=1)
    heads: int = Field(4, ge=1)
    feedforward: int = Field(128, ge=0, description="hidden features; 0 = no feed-forward")
    activation: Activation = "gelu"
    norm_position: Literal["post", "pre"] = "pre"
    dropout: float = Field(0.2, ge=0.0, lt=1.0)
    head_dropout: float = Field(0.0, ge=0.0, lt=1.0, description="before the last projection")

    @property
    def columns(self) -> int:
        """C: targets, columns known in the past only, columns known ahead."""
        return self.targets + self.past + self.known

    @model_validator(mode="after")
    def options_fit(self) -> Self:
        check_multiple("model.width", self.width, "model.heads", self.heads)
        if self.feedback and self.tokens != "steps":
            raise ConfigError(f"model.feedback is for tokens = 'steps'; '{self.tokens}' forecasts all steps at once")
        if self.feedback and self.head in ("quantiles", "mixture"):
            raise ConfigError(f"model.feedback feeds a number back; head = '{self.head}' does not go with it")
        rising = sorted(set(self.quantiles))
        if self.quantiles != rising or not 0 < rising[0] <= rising[-1] < 1:
            raise ConfigError(f"model.quantiles = {self.quantiles}: must rise from above 0 to below 1")
        if self.tokens == "patches" and self.look_back and self.patch > self.look_back:
            raise ConfigError(f"model.patch ({self.patch}) is longer than data.look_back ({self.look_back})")
        return self


class Forecaster(SeriesReader):
    """Forecast the targets of a window."""

    Config = ForecasterConfig
    tasks = ("forecasting",)
    ridge_weight: Tensor

    def __init__(self, config: ForecasterConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens, self.patch, self.stride = config.tokens, config.patch, config.stride
        self.head = make_head(config.head, loss=config.loss, levels=config.quantiles, ways=config.ways)
        self.reader = make_reader(config, self.head.parameters_of_value)
        self.project = self.reader.project
        self.head.begin(self.project.bias)
        if config.linear:
            together = config.targets if config.joint else 1
            self.register_buffer("ridge_weight", torch.zeros(together * config.horizon, together * config.look_back))

    @torch.no_grad()
    def set_ridge(self, weight: Tensor) -> None:
        """Take the ridge regression's weights; the Transformer begins by adding nothing to it."""
        self.ridge_weight.copy_(weight)

    def features(self, batch: SeriesBatch) -> Tensor:
        """Return what is projected."""
        shift, scale = self.statistics(batch)
        return self.reader.features(self.normed(batch, shift, scale), batch)

    def forward(self, batch: SeriesBatch) -> Tensor:
        """Return the parameters (B, H, V, P) of what is said of each value to come."""
        return self.forecast(batch)[0]

    def forecast(self, batch: SeriesBatch) -> tuple[Tensor, Tensor]:
        """Return the parameters (B, H, V, P), and the unit of each window (B, 1, V)."""
        shift, scale = self.statistics(batch)
        base = self.ridge(batch) if self.config.linear else shift.expand(-1, self.config.horizon, -1)
        past = self.normed(batch, shift, scale)
        raw = self._fed_back(past, batch, base, shift, scale) if self.config.feedback else self.reader(past, batch)
        return self.head.anchor(raw, base, self.growing(scale)), scale

    def growing(self, scale: Tensor) -> Tensor:
        """Return the unit at each step to come (B, 1 or H, V): of steps that add up it grows with the root of their number."""
        if not self.config.relative or self.config.window == "none":
            return scale
        return scale * torch.arange(1, self.config.horizon + 1, device=scale.device).sqrt()[:, None]

    def _fed_back(self, past: Tensor, batch: SeriesBatch, base: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
        """Return raw parameters, each step from those before it: the true ones in training, else its own."""
        assert isinstance(self.reader, StepTokens)

        def point(raw: Tensor) -> Tensor:
            anchored = self.head.anchor(raw, base[:, : raw.shape[1]], self.growing(scale)[:, : raw.shape[1]])
            return (self.head.point(anchored) - shift) / scale

        given = None
        if self.training:  # a value that is missing is given as the last one, or as the ridge has it
            true = torch.where(batch.future_observed, batch.future, base)
            given = (true - shift) / scale
        return self.reader.fed_back(past, batch, given, point)

    def statistics(self, batch: SeriesBatch) -> tuple[Tensor, Tensor]:
        """Return shift and scale (B, 1, V) of each window's targets."""
        targets = self.config.targets
        return window_statistics(
            batch.past[..., :targets], batch.observed[..., :targets], self.config.window, relative=self.config.relative
        )

    def normed(self, batch: SeriesBatch, shift: Tensor, scale: Tensor) -> Tensor:
        """Return the past (B, L, C) with its targets in each window's own units; 0 where missing."""
        targets = self.config.targets
        normed = (batch.past[..., :targets] - shift) / scale * batch.observed[..., :targets]
        return torch.cat([normed, batch.past[..., targets:]], dim=-1)

    def ridge(self, batch: SeriesBatch) -> Tensor:
        """Return the ridge regression's forecast (B, H, V), from the last value on."""
        targets = self.config.targets
        past, observed = batch.past[..., :targets], batch.observed[..., :targets]
        return ridge_forecast(self.ridge_weight, past, observed, relative=self.config.relative)

    @property
    def shortcut(self) -> bool:
        """Whether a ridge regression stands beside the Transformer."""
        return self.config.linear


class Reader(nn.Module, ABC):
    """From a window to what is said of each value to come, before it is anchored."""

    def __init__(self, config: ForecasterConfig, parameters: int) -> None:
        super().__init__()
        self.config, self.parameters_of_value = config, parameters
        self.dropout, self.head_dropout = Dropout(config.dropout), Dropout(config.head_dropout)

    project: nn.Linear

    @abstractmethod
    def features(self, past: Tensor, batch: SeriesBatch) -> Tensor:
        """Return what is projected, of a normed past (B, L, C)."""

    @abstractmethod
    def forward(self, past: Tensor, batch: SeriesBatch) -> Tensor:
        """Return raw parameters (B, H, V, P)."""

    def make_project(self, inputs: int, outputs: int) -> nn.Linear:
        """Return the last projection, which begins by saying nothing: all zeros."""
        project = Linear(inputs, outputs)
        nn.init.zeros_(project.weight)
        nn.init.zeros_(project.bias)
        return project

    def context(self, batch: SeriesBatch) -> Tensor:
        """Return what is known of the time to come, and of the series, (B, H · K + F)."""
        return torch.cat([batch.known.flatten(1), batch.static], dim=1)

    @property
    def context_width(self) -> int:
        """H · K + F."""
        return self.config.horizon * self.config.known + self.config.static


class StepTokens(Reader):
    """Each step's columns are a token; queries of the horizon look at them."""

    def __init__(self, config: ForecasterConfig, parameters: int) -> None:
        super().__init__(config, parameters)
        width, options = config.width, LayerOptions.of(config)
        self.embed = Linear(2 * config.columns + config.static, width)
        self.positions = Positions("sinusoidal", width)
        self.encoder = EncoderStack(options, config.layers)
        self.decoder = DecoderStack(options, config.layers)
        self.queries = nn.Parameter(torch.randn(config.horizon, width) * SPREAD)
        if config.known:
            self.embed_known = Linear(config.known, width)
        if config.feedback:
            self.embed_value = Linear(config.targets, width)
        self.project = self.make_project(width, config.targets * parameters)

    def memory(self, past: Tensor, batch: SeriesBatch) -> Tensor:
        """Return the encoded steps (B, L, D)."""
        static = batch.static[:, None].expand(-1, past.shape[1], -1)
        tokens = self.embed(torch.cat([past, batch.observed.to(past.dtype), static], dim=-1))
        found: Tensor = self.encoder(self.dropout(self.positions(tokens)))[-1]
        return found

    def asked(self, batch: SeriesBatch) -> Tensor:
        """Return the horizon's queries (B, H, D), with what is known of their steps."""
        first = self.config.look_back
        places = torch.arange(first, first + self.config.horizon, device=batch.past.device)
        queries = (self.queries + self.positions.encode(places)).expand(len(batch.past), -1, -1)
        return queries + self.embed_known(batch.known) if self.config.known else queries

    def features(self, past: Tensor, batch: SeriesBatch) -> Tensor:
        """Return (B, H, D)."""
        remembered = self.decoder.remember([self.memory(past, batch)] * self.config.layers)
        found: Tensor = self.decoder(self.dropout(self.asked(batch)), remembered, memory_mask=None)
        return found

    def forward(self, past: Tensor, batch: SeriesBatch) -> Tensor:
        """Return (B, H, V, P)."""
        return self.raw(self.features(past, batch))

    def raw(self, features: Tensor) -> Tensor:
        """Return (B, n, V, P) of features (B, n, D)."""
        raw: Tensor = self.project(self.head_dropout(features))
        return raw.view(*raw.shape[:2], self.config.targets, self.parameters_of_value)

    def fed_back(
        self, past: Tensor, batch: SeriesBatch, given: Tensor | None, point: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Return (B, H, V, P), each step from the normed values before it.

        They are given (B, H, V) in training; without, point turns raw parameters (B, n, V, P) into them.
        """
        remembered = self.decoder.remember([self.memory(past, batch)] * self.config.layers)
        asked, first = self.asked(batch), past[:, -1:, : self.config.targets]
        if self.config.relative:  # the last step stands where counting begins
            first = torch.zeros_like(first)
        if given is not None:
            before = torch.cat([first, given[:, :-1]], dim=1)
            return self.raw(self.decoder(self.dropout(asked + self.embed_value(before)), remembered, memory_mask=None))
        before = first
        for step in range(1, self.config.horizon + 1):
            queries = asked[:, :step] + self.embed_value(before)
            raw = self.raw(self.decoder(queries, remembered, memory_mask=None))
            before = torch.cat([first, point(raw)], dim=1)
        return raw


class PatchTokens(Reader):
    """Stretches of one variable are tokens; variables are read one by one, with the same weights."""

    def __init__(self, config: ForecasterConfig, parameters: int) -> None:
        super().__init__(config, parameters)
        width, extra = config.width, config.past + config.known
        self.count = (max(config.look_back - config.patch, 0) + config.stride - 1) // config.stride + 1  # N
        self.embed = Linear(2 * config.patch * (1 + extra), width)
        self.positions = Positions("learned", width, longest=self.count + bool(self.context_width))
        self.encoder = EncoderStack(LayerOptions.of(config), config.layers)
        if self.context_width:
            self.embed_context = Linear(self.context_width, width)
        tokens = self.count + bool(self.context_width)
        self.project = self.make_project(tokens * width, config.horizon * parameters)

    def patches(self, values: Tensor) -> Tensor:
        """Return (B, C, N, patch) of values (B, L, C); where stretches do not come out even, the first value is repeated."""
        short = (self.count - 1) * self.config.stride + self.config.patch - values.shape[1]
        series = F.pad(values.transpose(1, 2), (short, 0), mode="replicate") if short else values.transpose(1, 2)
        return series.unfold(2, self.config.patch, self.config.stride)

    def features(self, past: Tensor, batch: SeriesBatch) -> Tensor:
        """Return (B · V, N · D)."""
        targets = self.config.targets
        values, there = self.patches(past), self.patches(batch.observed.to(past.dtype))
        own = torch.cat([values[:, :targets], there[:, :targets]], dim=-1)  # (B, V, N, 2 · patch)
        if values.shape[1] > targets:  # what else is known goes to every variable
            beside = torch.cat([values[:, targets:], there[:, targets:]], dim=-1).transpose(1, 2).flatten(2)
            own = torch.cat([own, beside[:, None].expand(-1, targets, -1, -1)], dim=-1)
        tokens = self.embed(own.flatten(0, 1))  # (B · V, N, D)
        if self.context_width:
            context = self.embed_context(self.context(batch)).repeat_interleave(targets, dim=0)
            tokens = torch.cat([tokens, context[:, None]], dim=1)
        states: Tensor = self.encoder(self.dropout(self.positions(tokens)))[-1]
        return states.flatten(1)

    def forward(self, past: Tensor, batch: SeriesBatch) -> Tensor:
        """Return (B, H, V, P)."""
        raw: Tensor = self.project(self.head_dropout(self.features(past, batch)))
        return raw.view(len(past), self.config.targets, self.config.horizon, -1).transpose(1, 2)


class VariableTokens(Reader):
    """The whole window of a variable is a token; variables look at each other."""

    def __init__(self, config: ForecasterConfig, parameters: int) -> None:
        super().__init__(config, parameters)
        width = config.width
        self.embed = Linear(2 * config.look_back, width)
        self.who = nn.Parameter(torch.randn(config.columns, width) * SPREAD)
        self.encoder = EncoderStack(LayerOptions.of(config), config.layers)
        if self.context_width:
            self.embed_context = Linear(self.context_width, width)
        self.project = self.make_project(width, config.horizon * parameters)

    def features(self, past: Tensor, batch: SeriesBatch) -> Tensor:
        """Return (B, V, D)."""
        windows = torch.cat([past, batch.observed.to(past.dtype)], dim=1).transpose(1, 2)  # (B, C, 2 L)
        tokens = self.embed(windows) + self.who
        if self.context_width:
            tokens = torch.cat([tokens, self.embed_context(self.context(batch))[:, None]], dim=1)
        states: Tensor = self.encoder(self.dropout(tokens))[-1]
        return states[:, : self.config.targets]

    def forward(self, past: Tensor, batch: SeriesBatch) -> Tensor:
        """Return (B, H, V, P)."""
        raw: Tensor = self.project(self.head_dropout(self.features(past, batch)))
        return raw.view(len(past), self.config.targets, self.config.horizon, -1).transpose(1, 2)


def make_reader(config: ForecasterConfig, parameters: int) -> Reader:
    """Return what reads a window token by token."""
    if config.tokens == "steps":
        return StepTokens(config, parameters)
    return PatchTokens(config, parameters) if config.tokens == "patches" else VariableTokens(config, parameters)
