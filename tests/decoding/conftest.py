"""Toy decoders: a table says what follows, so that every property can be worked out by hand.

Their logits depend on the sentence, on the last two tokens and on the length; nothing is computed across rows, so
results are the same to the bit in any batch. Their states refuse to be used twice, as the contract has it.
"""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from jumok.config import DecodingConfig
from jumok.decoding import Marks, Request, generate
from jumok.nn.model import Decoder, Memory

PAD, START, END = 0, 1, 2
MARKS = Marks(START, END, PAD)
SENTENCES = 13  # kinds of sentences that the table tells apart


class ToyState:
    """What was written last, and the source."""

    def __init__(self, kind, latest, length, mask):
        self.kind, self.latest, self.length, self.mask = kind, latest, length, mask
        self.spent = False

    @property
    def rows(self):
        return len(self.kind)

    def spend(self):
        assert not self.spent, "a state was used twice"
        self.spent = True

    def select(self, rows):
        self.spend()
        mask = self.mask[rows]
        mask = mask[:, : int(mask.sum(dim=1).max())]
        return ToyState(self.kind[rows], self.latest[rows], self.length[rows], mask)

    def join(self, other):
        self.spend(), other.spend()
        width = max(self.mask.shape[1], other.mask.shape[1])
        masks = [F.pad(state.mask, (0, width - state.mask.shape[1])) for state in (self, other)]
        return ToyState(
            torch.cat([self.kind, other.kind]),
            torch.cat([self.latest, other.latest]),
            torch.cat([self.length, other.length]),
            torch.cat(masks),
        )


class ToyDecoder(Decoder[torch.Tensor, ToyState]):
    """Look the next token's logits up in a random table."""

    limit = 0

    def __init__(self, vocabulary=11, seed=0, hurry=0.3, limit=0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.table = 2.0 * torch.randn(SENTENCES, vocabulary, vocabulary, vocabulary, generator=generator)
        self.hurry = hurry  # what each token adds to the end's logit
        self.limit = limit  # most tokens of an answer
        self.fed = []  # hypotheses of each extend
        self.encoded = []  # sentences of each encode
        self.eval()

    def features(self, batch):
        raise AssertionError("nobody trains a toy")

    def encode(self, inputs):
        self.encoded.append(len(inputs))
        return Memory(states=inputs[..., None].float(), mask=inputs != PAD)

    def start(self, memory):
        kind = memory.states[..., 0].long().sum(dim=1) % SENTENCES
        latest = torch.full((len(kind), 2), PAD)
        return ToyState(kind, latest, torch.zeros(len(kind), dtype=torch.int64), memory.mask)

    def extend(self, tokens, state):
        return self.observed_extend(tokens, state)[:2]

    def observed_extend(self, tokens, state):
        state.spend()
        assert state.rows == len(tokens), "the engine and the state disagree about the rows"
        self.fed.append(len(tokens))
        read = torch.cat([state.latest, tokens], dim=1)
        logits = self.table[state.kind[:, None], read[:, 1:-1], read[:, 2:]]
        logits[..., END] += self.hurry * (state.length[:, None] + torch.arange(tokens.shape[1]))
        near = -((torch.arange(state.mask.shape[1]) - tokens[..., None] % 5).abs().float())  # (R, n, S)
        attention = near.masked_fill(~state.mask[:, None], float("-inf")).softmax(dim=2)
        state = ToyState(state.kind, read[:, -2:], state.length + tokens.shape[1], state.mask)
        return logits, state, attention


def collate(sources):
    width = max(map(len, sources))
    return torch.tensor([list(source) + [PAD] * (width - len(source)) for source in sources])


def requests(sources, prefixes=None):
    """Return a request for each source."""
    prefixes = prefixes or [()] * len(sources)
    return [Request(source, len(source), prefix) for source, prefix in zip(sources, prefixes, strict=True)]


def answers(decoder, sources, *, prefixes=None, progress=None, observed_extend=None, **options):
    """Call generate() with the toy's special tokens."""
    return generate(
        decoder, requests(sources, prefixes), collate=collate, options=DecodingConfig(**options), marks=MARKS,
        progress=progress, observed_extend=observed_extend,
    )  # fmt: skip


def rescore(decoder, source, hypothesis):
    """Return each token's log-probability from one pass over the whole answer, the end included when it was reached."""
    written = hypothesis.tokens + ([END] if hypothesis.finished else [])
    state = decoder.start(decoder.encode(collate([source])))
    logits, _ = decoder.extend(torch.tensor([[START, *written[:-1]]]), state)
    return logits.log_softmax(dim=2)[0, range(len(written)), written]


@pytest.fixture(autouse=True)
def one_thread():
    """Tiny tensors gain nothing from a second thread, and wait for it when the machine is busy."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def toy():
    """Everything a test of the engine needs."""
    return SimpleNamespace(
        PAD=PAD, START=START, END=END, MARKS=MARKS, Decoder=ToyDecoder, State=ToyState,
        collate=collate, requests=requests, answers=answers, rescore=rescore,
    )  # fmt: skip


@pytest.fixture
def sources():
    """Nine sentences of nine lengths, in no order."""
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(3, 29, (length,), generator=generator).tolist() for length in (4, 9, 1, 7, 3, 11, 2, 8, 5)]
