"""What a forecaster says of a value to come: one number, quantiles, a distribution, or several ways it may go.

features → raw (B, H, V, P), P numbers of each value → anchored to base and scale (B, 1 or H, V) → parameters (B, H, V, P)
parameters → loss against what came; the point forecast; quantiles; draws

point      a number (P = 1)
quantiles  Q numbers that never cross: the middle one, and steps up and down from it that are above zero
student-t  place, spread and degrees of freedom (P = 3)
mixture    a middle, and K ways that a whole window may go (P = 1 + 3 K): the place and spread of each at each step, and
           how likely it is, the mean over steps and variables of what each says
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# B windows · H horizon · V targets · P parameters of a value · Q levels · K ways · N draws

HeadKind = Literal["point", "quantiles", "student-t", "mixture"]
PointLoss = Literal["mse", "mae", "huber"]
LEAST_SPREAD = 1e-3  # in units of a window
LEAST_FREEDOM = 2.1  # below 2 there is no variance
UNIT = math.log(math.e - 1)  # softplus(UNIT) = 1
START = 0.5  # how far ways lie apart at first, in units of a window
HALVINGS = 40  # of an interval in which a quantile is searched
FARTHEST, CELLS, NEWTONS = 6.0, 60, 4  # of the search for a quantile of Student's t: sinh(6) is 202


class ForecastHead(nn.Module, ABC):
    """What is said of each value to come."""

    kind: ClassVar[HeadKind]
    parameters_of_value: int  # P

    def begin(self, bias: Tensor) -> None:
        """Set the bias (… · P) of the last projection, whose weights are zero: to say nothing, or as much as it must."""
        nn.init.zeros_(bias)

    @abstractmethod
    def anchor(self, raw: Tensor, base: Tensor, scale: Tensor) -> Tensor:
        """Return the parameters (B, H, V, P) of raw ones: places from base on, distances in units of scale."""

    @abstractmethod
    def loss(self, parameters: Tensor, future: Tensor, observed: Tensor, scale: Tensor) -> Tensor:
        """Return the summed loss of what came (B, H, V), where it is observed; distances count in units of scale."""

    @abstractmethod
    def point(self, parameters: Tensor) -> Tensor:
        """Return the point forecast (B, H, V)."""

    def quantiles(self, parameters: Tensor, levels: Sequence[float]) -> Tensor:
        """Return (B, H, V, levels); a head that gives numbers alone has none."""
        raise NotImplementedError(f"a head of {self.kind} has no quantiles")

    def ways(self, parameters: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return the ways it may go (B, K, H, V) and how likely each is (B, K); None where there is one."""
        return None


class PointHead(ForecastHead):
    """One number."""

    kind = "point"
    parameters_of_value = 1

    def __init__(self, loss: PointLoss = "mse") -> None:
        super().__init__()
        self.loss_kind = loss

    def anchor(self, raw: Tensor, base: Tensor, scale: Tensor) -> Tensor:
        """Return (B, H, V, 1)."""
        return base[..., None] + scale[..., None] * raw

    def loss(self, parameters: Tensor, future: Tensor, observed: Tensor, scale: Tensor) -> Tensor:
        """Return the summed squared or absolute error, or Huber's between the two."""
        error = ((parameters[..., 0] - future) / scale) * observed
        if self.loss_kind == "mse":
            return error.square().sum()
        if self.loss_kind == "mae":
            return error.abs().sum()
        return F.huber_loss(error, torch.zeros_like(error), reduction="sum")

    def point(self, parameters: Tensor) -> Tensor:
        """Return the number."""
        return parameters[..., 0]


class QuantileHead(ForecastHead):
    """Some quantiles, which never cross."""

    kind = "quantiles"

    def __init__(self, levels: Sequence[float]) -> None:
        """Take the levels, rising."""
        super().__init__()
        self.levels = list(levels)
        self.parameters_of_value = len(levels)
        self.middle = min(range(len(levels)), key=lambda place: abs(levels[place] - 0.5))

    def anchor(self, raw: Tensor, base: Tensor, scale: Tensor) -> Tensor:
        """Return (B, H, V, Q), rising."""
        middle = raw[..., self.middle : self.middle + 1]
        below = F.softplus(raw[..., : self.middle] + UNIT).flip(-1).cumsum(-1).flip(-1)
        above = F.softplus(raw[..., self.middle + 1 :] + UNIT).cumsum(-1)
        return base[..., None] + scale[..., None] * torch.cat([middle - below, middle, middle + above], dim=-1)

    def loss(self, parameters: Tensor, future: Tensor, observed: Tensor, scale: Tensor) -> Tensor:
        """Return the pinball loss, the mean over levels, times 2: at the median that is the absolute error."""
        error = ((future[..., None] - parameters) / scale[..., None]) * observed[..., None]
        level = parameters.new_tensor(self.levels)
        return 2 * torch.maximum(level * error, (level - 1) * error).mean(dim=-1).sum()

    def point(self, parameters: Tensor) -> Tensor:
        """Return the middle quantile."""
        return parameters[..., self.middle]

    def quantiles(self, parameters: Tensor, levels: Sequence[float]) -> Tensor:
        """Return (B, H, V, levels): on straight lines between the learnt ones, the outermost beyond them."""
        own = parameters.new_tensor(self.levels)
        wanted = parameters.new_tensor(list(levels)).clamp(own[0], own[-1])
        right = torch.searchsorted(own, wanted).clamp(1 if len(own) > 1 else 0, len(own) - 1)
        left = (right - 1).clamp(min=0)
        share = (wanted - own[left]) / (own[right] - own[left]).clamp(min=1e-12)
        return torch.lerp(parameters[..., left], parameters[..., right], share)


class StudentHead(ForecastHead):
    """Student's t: a place, a spread, and tails as heavy as its degrees of freedom are few."""

    kind = "student-t"
    parameters_of_value = 3

    def anchor(self, raw: Tensor, base: Tensor, scale: Tensor) -> Tensor:
        """Return place, spread and degrees of freedom (B, H, V, 3)."""
        place = base + scale * raw[..., 0]
        spread = scale * (F.softplus(raw[..., 1] + UNIT) + LEAST_SPREAD)
        freedom = LEAST_FREEDOM + 4 * F.softplus(raw[..., 2] + UNIT)
        return torch.stack([place, spread, freedom.expand_as(place)], dim=-1)

    def loss(self, parameters: Tensor, future: Tensor, observed: Tensor, scale: Tensor) -> Tensor:
        """Return −log density in units of scale."""
        place, spread, freedom = parameters.unbind(-1)
        distance = (future - place) / spread
        whole = torch.lgamma((freedom + 1) / 2) - torch.lgamma(freedom / 2) - 0.5 * (math.pi * freedom).log()
        density = whole - spread.log() - (freedom + 1) / 2 * torch.log1p(distance.square() / freedom)
        return -((density + scale.log()) * observed).sum()

    def point(self, parameters: Tensor) -> Tensor:
        """Return the place, which is mean and median."""
        return parameters[..., 0]

    def quantiles(self, parameters: Tensor, levels: Sequence[float]) -> Tensor:
        """Return (B, H, V, levels)."""
        place, spread, freedom = (each[..., None] for each in parameters.unbind(-1))
        return place + spread * student_quantile(parameters.new_tensor(list(levels)), freedom)


class MixtureHead(ForecastHead):
    """A middle, and K ways that a whole window may go.

    No way, and no mean of ways, is near what came as often as a middle that is learnt for that: so there is one beside them.
    """

    kind = "mixture"

    def __init__(self, ways: int) -> None:
        super().__init__()
        self.count = ways
        self.parameters_of_value = 1 + 3 * ways

    @torch.no_grad()
    def begin(self, bias: Tensor) -> None:
        """Let the ways differ, around nothing: were they alike, they would learn alike."""
        nn.init.zeros_(bias)
        places = bias.view(-1, self.parameters_of_value)[:, 1 : 1 + self.count]
        places.normal_(std=START)
        places -= places.mean(dim=1, keepdim=True)

    def parts(self, parameters: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the middle (B, H, V, 1), and places, spreads and log-weights (B, H, V, K) of the ways."""
        place, spread, weight = parameters[..., 1:].chunk(3, dim=-1)
        return parameters[..., :1], place, spread, weight

    def anchor(self, raw: Tensor, base: Tensor, scale: Tensor) -> Tensor:
        """Return the middle, and places, spreads and log-weights (B, H, V, 1 + 3 K)."""
        middle, place, spread, weight = self.parts(raw)
        unit = scale[..., None]
        spread = unit * (F.softplus(spread + UNIT) + LEAST_SPREAD)
        weight = weight.mean(dim=(1, 2), keepdim=True).log_softmax(dim=-1).expand_as(place)
        return torch.cat([base[..., None] + unit * middle, base[..., None] + unit * place, spread, weight], dim=-1)

    def loss(self, parameters: Tensor, future: Tensor, observed: Tensor, scale: Tensor) -> Tensor:
        """Return −log of the ways' density over whole windows, of Laplace distributions, and the middle's absolute error."""
        middle, place, spread, weight = self.parts(parameters)
        each = -((future[..., None] - place).abs() / spread + (2 * spread / scale[..., None]).log())
        window = (each * observed[..., None]).sum(dim=(1, 2)) + weight[:, 0, 0]  # (B, K)
        error = ((middle[..., 0] - future) / scale * observed).abs().sum()
        return error - window.logsumexp(dim=-1).sum()

    def point(self, parameters: Tensor) -> Tensor:
        """Return the middle."""
        return parameters[..., 0]

    def ways(self, parameters: Tensor) -> tuple[Tensor, Tensor]:
        """Return the ways (B, K, H, V) and how likely each is (B, K)."""
        _, place, _, weight = self.parts(parameters)
        return place.movedim(-1, 1), weight[:, 0, 0].exp()

    def quantiles(self, parameters: Tensor, levels: Sequence[float]) -> Tensor:
        """Return (B, H, V, levels) of the ways, found by halving: at each their distribution has the level."""
        place, spread, weight = (part[..., None, :] for part in self.parts(parameters)[1:])  # (B, H, V, 1, K)
        level = parameters.new_tensor(list(levels))
        low, high = ((place + side * 40 * spread) for side in (-1, 1))
        low, high = low.amin(-1).expand(*low.shape[:-2], len(level)), high.amax(-1).expand(*high.shape[:-2], len(level))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            distance = (middle[..., None] - place) / spread
            below = torch.where(distance < 0, distance.clamp(max=0).exp() / 2, 1 - (-distance).clamp(max=0).exp() / 2)
            under = (below * weight.exp()).sum(-1) < level
            low, high = torch.where(under, middle, low), torch.where(under, high, middle)
        return (low + high) / 2


def student_quantile(level: Tensor, freedom: Tensor) -> Tensor:
    """Return the quantile of Student's t at level (Q,), by degrees of freedom (…, 1): (…, Q).

    Along x = sinh(u) the density is integrated by Simpson's rule from 0 on; the level is looked up in that, and made exact
    by Newton's steps.
    """
    degrees = freedom.double()
    log_scale = torch.lgamma((degrees + 1) / 2) - torch.lgamma(degrees / 2) - 0.5 * (degrees * math.pi).log()

    def density(u: Tensor) -> Tensor:
        x = u.sinh()
        return (log_scale - (degrees + 1) / 2 * torch.log1p(x * x / degrees)).exp() * u.cosh()

    def between(left: Tensor, right: Tensor) -> Tensor:
        return (density(left) + 4 * density((left + right) / 2) + density(right)) * (right - left) / 6

    grid = torch.linspace(0.0, FARTHEST, CELLS + 1, dtype=torch.float64, device=level.device)
    mass = F.pad(between(grid[:-1], grid[1:]).cumsum(-1), (1, 0))  # (…, CELLS + 1)
    wanted = (level.double() - 0.5).abs().expand(*degrees.shape[:-1], -1).contiguous()
    left = (torch.searchsorted(mass.contiguous(), wanted) - 1).clamp(0, CELLS - 1)
    start, found = grid[left], grid[left] + float(grid[1]) / 2
    for _ in range(NEWTONS):
        found = found - (mass.gather(-1, left) + between(start, found) - wanted) / density(found)
    return ((level - 0.5).sign() * found.sinh()).to(freedom.dtype)


def make_head(kind: HeadKind, *, loss: PointLoss, levels: Sequence[float], ways: int) -> ForecastHead:
    """Return the head of a kind."""
    if kind == "quantiles":
        return QuantileHead(levels)
    if kind == "student-t":
        return StudentHead()
    return MixtureHead(ways) if kind == "mixture" else PointHead(loss)
