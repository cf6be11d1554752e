"""What a model is to tasks, trainer and predictors, and what a decoder is to a search.

Model    batch → features → project → logits
Decoder  inputs → encode → Memory → start → state → extend → logits, state …; search_on: many steps at once, where it can

A base class says what everybody may call; whoever calls never asks which model it has.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from jumok.nn.batch import CaptionBatch, DrawingBatch, ImageBatch, LabelBatch, MaskedBatch, SeriesBatch
from jumok.nn.forecast_heads import ForecastHead
from jumok.nn.recording import recorder_for

# B sentences · S source · D width · V vocabulary · R open hypotheses · N sentences of a search · W hypotheses of each
# T room for tokens · K tokens of a shortlist · E hypotheses that have ended

BatchT = TypeVar("BatchT")


class OwnRate(NamedTuple):
    """How a part of a model learns that was trained before: more slowly, and not from the first step on."""

    prefix: str  # of its parameters' names
    share: float  # of the learning rate
    after: int  # steps in which it rests


class Model(nn.Module, ABC, Generic[BatchT]):
    """What every model has: a configuration that it is made of, features, and a projection of them to logits."""

    Config: ClassVar[type]  # a class of recipe sections: Model(config) makes the model
    tasks: ClassVar[tuple[str, ...]] = ()  # that it was made for
    why_no_attention: ClassVar[str] = ""  # a sentence for models that have none to show
    project: nn.Linear  # features → logits

    @abstractmethod
    def features(self, batch: BatchT) -> Tensor:
        """Return what is projected to logits."""

    def forward(self, batch: BatchT) -> Tensor:
        """Return the logits of a batch."""
        logits: Tensor = self.project(self.features(batch))
        return logits

    @property
    def limit(self) -> int:
        """The longest sequence the model can take; 0: any."""
        return 0

    @property
    def attends_to_source(self) -> bool:
        """Whether there is attention over a source that an answer is made of."""
        return False

    @property
    def embedding_tables(self) -> dict[str, nn.Embedding]:
        """The tables of token vectors by side (source, target), where files of vectors can be loaded into them."""
        return {}

    @property
    def own_rates(self) -> tuple[OwnRate, ...]:
        """The parts that have a learning rate of their own."""
        return ()

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    @property
    def parameter_count(self) -> int:
        """How many numbers the model has learnt or will learn."""
        return sum(parameter.numel() for parameter in self.parameters())

    @property
    def watched(self) -> bool:
        """Whether somebody trains or observes the model: then every layer is called as it stands."""
        return self.training or torch.is_grad_enabled() or recorder_for(self) is not None


class ImageReader(Model[ImageBatch]):
    """A model that reads images."""

    map_width: int  # features of each cell of its feature map
    behind_map: ClassVar[tuple[str, ...]] = ("project",)  # its modules that the feature map does not need

    def feature_map(self, images: Tensor) -> Tensor:
        """Return what it sees at each place of images (B, C, H, W), before it is pooled: (B, map_width, h, w)."""
        raise NotImplementedError(f"{type(self).__name__} has no feature map")

    def grid(self, images: Tensor) -> tuple[int, int]:
        """Return the rows and columns of cells that attention maps over images (B, C, H, W) have."""
        return images.shape[-2], images.shape[-1]

    def mixing_weights(self) -> Tensor | None:
        """Return how each layer mixes the patches of every image alike, (layers, P, P); None where it does not."""
        return None


class Recoded(NamedTuple):
    """Images as their codes tell them."""

    images: Tensor  # (B, C, H, W)
    codes: Tensor  # (B, h, w)
    loss: Tensor  # the quantiser's own, summed over the batch; 0 where it has none


class ImageCoder(Model[ImageBatch]):
    """A model that says an image in codes, one for each cell of a grid, and makes an image of codes."""

    codes: int  # how many there are
    levels: Sequence[int] = ()  # of each digit of a code, the lowest first; empty where a code is a mere number

    @property
    @abstractmethod
    def grid(self) -> tuple[int, int]:
        """Rows and columns of codes."""

    @abstractmethod
    def recode(self, images: Tensor) -> Recoded:
        """Return images (B, C, H, W) as their codes tell them, with gradients."""

    @abstractmethod
    def encode(self, images: Tensor) -> Tensor:
        """Return the codes (B, h, w) of images (B, C, H, W)."""

    @abstractmethod
    def decode(self, codes: Tensor) -> Tensor:
        """Return images (B, C, H, W) of codes (B, h, w)."""

    def begin(self, images: Tensor) -> None:
        """Look at some images (B, C, H, W) before training: a codebook starts from them."""


class SeriesReader(Model[SeriesBatch]):
    """A model that reads windows of series and says what comes next."""

    head: ForecastHead  # what is said of each value
    tokens: str = ""  # what a token stands for: steps, patches or variables; "": for something else
    patch: int = 0  # of patches: the steps of one
    stride: int = 0  # and from one to the next

    @abstractmethod
    def forecast(self, batch: SeriesBatch) -> tuple[Tensor, Tensor]:
        """Return what the head says of each value to come, (B, H, V, P), and the unit of each window (B, 1, V)."""

    @property
    def shortcut(self) -> bool:
        """Whether a linear regression, found before training, stands beside it."""
        return False

    def set_ridge(self, weight: Tensor) -> None:
        """Take the weights of that regression: (H, L), or (H · V, L · V) of all variables together."""
        raise AssertionError(f"{type(self).__name__} has no linear shortcut")


class MaskedReader(Model[MaskedBatch | LabelBatch]):
    """A model that reads a text both ways and finds its masked tokens."""

    next_sentence: nn.Linear  # pooled text → does the second sentence follow the first?

    @abstractmethod
    def states(self, batch: MaskedBatch | LabelBatch) -> Tensor:
        """Return the last layer's states (B, S, D)."""

    @abstractmethod
    def token_features(self, states: Tensor) -> Tensor:
        """Return what is projected to find the token of each position: (…, D) of states (…, D)."""

    @abstractmethod
    def pooled(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return what stands for a whole text, (B, D), of states (B, S, D) and the mask (B, S) of real positions."""


@dataclass(frozen=True)
class Memory:
    """What an encoder hands to a decoder, of texts and images alike."""

    states: Tensor  # (B, S, D), the last layer's
    mask: Tensor  # (B, S), True = may look
    layers: tuple[Tensor, ...] = ()  # each layer's states, for decoders that look at equal depth
    grid: tuple[int, int] | None = None  # rows and columns, where S are the cells of an image
    remembered: tuple[Tensor, ...] = ()  # each decoder layer's keys, then its values (B, H, S, d), where they are known


class DecoderState(Protocol):
    """What a decoder remembers of hypotheses; one that was extended, selected from or joined must not be used again."""

    @property
    def rows(self) -> int:
        """How many hypotheses there are."""

    def select(self, rows: Tensor) -> Self:
        """Return the state of hypotheses rows (R',): reordered, repeated or left out."""

    def join(self, other: Self) -> Self:
        """Return the state with other's hypotheses after our own."""


StateT = TypeVar("StateT", bound=DecoderState)


@dataclass
class OpenHypotheses:
    """Hypotheses that have not ended, those of a sentence side by side: a decoder that searches by itself writes into these.

    native/searching.c has the same fields in struct open_hypotheses.
    """

    next: Tensor  # (R,) tokens chosen last, not yet read by the decoder
    length: Tensor  # (R,) tokens so far, next included
    total: Tensor  # (R,) log-probability of them
    tokens: Tensor  # (R, T)
    log_probabilities: Tensor  # (R, T) of each token
    longest: Tensor  # (N,) most tokens of a sentence's hypotheses, the end included
    ended: Tensor  # (N,) how many hypotheses of a sentence have ended


class EndedHypotheses(NamedTuple):
    """Hypotheses that have ended, in the order in which they did; struct ended_hypotheses in C."""

    sentence: Tensor  # (E,) the place of their sentence among those of the call
    length: Tensor  # (E,)
    total: Tensor  # (E,)
    tokens: Tensor  # (E, T)
    log_probabilities: Tensor  # (E, T)


class SearchRequest(NamedTuple):
    """How far a decoder is to search by itself; struct search_request in C."""

    width: int  # hypotheses of each sentence
    steps: int  # at most
    until: int  # stop when no more sentences than these are left
    end: int  # the token that ends a hypothesis
    never: Sequence[int]  # columns of the logits that are never chosen
    shortlist: Tensor | None = None  # (K,) the token of each column; None: columns are tokens


class SearchResult(NamedTuple, Generic[StateT]):
    """Where a search stands after some steps."""

    hypotheses: OpenHypotheses
    state: StateT
    sentences: Tensor  # (N',) the former place of each sentence that is still open
    ended: EndedHypotheses


class Decoder(Model[BatchT], Generic[BatchT, StateT]):
    """A model that writes one token after another, given what it has read."""

    differentiable_steps: ClassVar[bool] = False  # whether extend can be trained through: scheduled sampling needs it
    restrictable: ClassVar[bool] = False  # whether it can compute the logits of a shortlist alone

    def prepare(self) -> None:
        """Make of the weights what a search wants, while there is one process: those that share the search then have it."""

    @abstractmethod
    def encode(self, inputs: BatchT) -> Memory:
        """Read the inputs once."""

    @abstractmethod
    def start(self, memory: Memory) -> StateT:
        """Return the state of one empty hypothesis for each sentence."""

    @abstractmethod
    def extend(self, tokens: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """Write tokens (R, n) to the hypotheses; return the next tokens' logits (R, n, V) and the new state."""

    def restrict(self, state: StateT, shortlist: Tensor | None) -> StateT:
        """Return the state, whose logits will be those of the shortlist's tokens (K,) in their order; None: of all tokens."""
        raise AssertionError(f"{type(self).__name__} is not restrictable")

    def search_on(
        self, state: StateT, hypotheses: OpenHypotheses, request: SearchRequest
    ) -> SearchResult[StateT] | None:
        """Go on with a search for some steps; None where the decoder takes one step at a time."""
        return None


class CaptionDecoder(Decoder[CaptionBatch, StateT]):
    """A decoder that describes images."""

    @property
    def doubly_stochastic(self) -> float:
        """The weight of the term of the loss that wants each cell looked at once; 0: there is none."""
        return 0.0

    def features_and_weights(self, batch: CaptionBatch) -> tuple[Tensor, Tensor | None]:
        """Return the features (B, T, D), and where each word looked (B, T, S) where that is wanted in the loss."""
        return self.features(batch), None


class DrawingDecoder(Decoder[DrawingBatch, StateT]):
    """A decoder that reads a text and writes the codes of an image, row by row; its limit is how many those are."""

    begin: int  # the token behind which an image begins

    @abstractmethod
    def text_and_image(self, batch: DrawingBatch) -> tuple[Tensor, Tensor]:
        """Return what the next token is told from, each given: of text (B, S − 1, D), of the image (B, G, D)."""

    @property
    @abstractmethod
    def project_text(self) -> nn.Linear:
        """What says the next token of a text; `project` says the next code."""

    @property
    @abstractmethod
    def grid(self) -> tuple[int, int]:
        """Rows and columns of codes."""
