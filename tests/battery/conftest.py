"""Every model in the catalogue, in several variants: a new model gets the battery by being listed."""

import pytest
import torch

from jumok.catalogue import MODELS, model_class
from jumok.nn.batch import PairBatch
from jumok.nn.masks import padding_mask

SOURCE_VOCABULARY, TARGET_VOCABULARY = 31, 29

# Small sizes, distinct primes where the model allows it; each model lists the options that change its computation.
SIZES = {
    "seq2seq": {"layers": 1, "width": 22, "dropout": 0.0},
    "transformer": {"layers": 2, "width": 22, "heads": 2, "feedforward": 13, "dropout": 0.0},
}
VARIANTS: dict[str, dict[str, dict]] = {
    "seq2seq": {
        "mlp": {},
        "dot": {"attention": "dot", "cell": "lstm"},
        "bilinear": {"attention": "bilinear", "encoder_width": 14, "cell": "rnn"},
        "before": {"attend": "before", "layers": 2},
        "before, lstm": {"attend": "before", "cell": "lstm", "encoder_width": 14},
        "input feeding": {"input_feeding": True, "layers": 2},
        "input feeding, lstm": {"input_feeding": True, "cell": "lstm"},
        "one way, reversed": {"bidirectional": False, "reverse_source": True, "attention": "bilinear"},
        "fixed context": {"attention": "none", "layers": 2},
        "fixed context, every step": {"attention": "none", "context": "every", "cell": "lstm", "encoder_width": 14},
        "untied": {"tied": False, "shared_embeddings": False},
    },
    "transformer": {
        "default": {},
        "pre-norm": {"norm_position": "pre"},
        "batch norm": {"norm": "batch"},
        "learned positions": {"positions": "learned", "max_positions": 17},
        "halves": {"positions": "sinusoidal-halves"},
        "no positions": {"positions": "none"},
        "index concatenated": {"positions": "index", "position_join": "concatenate", "tied": False},
        "sinusoid concatenated": {"position_join": "concatenate", "position_width": 5, "tied": False},
        "free widths": {"head_width": 7, "value_width": 5},
        "same depth": {"cross_attention": "same_depth"},
        "no feed-forward": {"feedforward": 0},
        "middle feed-forward": {"middle_feedforward": True},
        "no residual": {"residual": False},
        "unscaled": {"scaled": False},
        "uneven depth": {"encoder_layers": 3, "decoder_layers": 1},
        "untied": {"tied": False},
    },
}
# Declared exceptions: batch norm in training mixes the examples of a batch (see norms.py).
MIXES_EXAMPLES = {"batch norm"}
# A fixed context vector has nothing to show, and says so by an empty record.
BLIND = {"fixed context", "fixed context, every step"}
# Handicapped on purpose: the claims gallery measures by how much.
HANDICAPPED = {"no residual", "no feed-forward", "unscaled"}
WIDER = {"seq2seq": {"width": 32}, "transformer": {"width": 32, "feedforward": 37}}

TRANSLATORS = [name for name in MODELS if "translation" in model_class(name).tasks]
CASES = [(name, variant) for name in TRANSLATORS for variant in VARIANTS[name]]


def make_model(name: str, variant: str, **changes):
    torch.manual_seed(5)
    built = model_class(name)
    vocabularies = {"source_vocabulary": SOURCE_VOCABULARY, "target_vocabulary": TARGET_VOCABULARY}
    options = {**vocabularies, **SIZES[name], **VARIANTS[name][variant], **changes}
    return built(built.Config(name=name, **options)).eval()


def make_batch(source_lengths=(7, 5, 3), target_lengths=(6, 4, 2), extra=0, seed=3) -> PairBatch:
    """Return random pairs; extra adds columns of padding to both sides."""
    generator = torch.Generator().manual_seed(seed)
    rows = len(source_lengths)
    source = torch.randint(4, SOURCE_VOCABULARY, (rows, max(source_lengths)), generator=generator)
    tokens = torch.randint(4, TARGET_VOCABULARY, (rows, max(target_lengths) + 1), generator=generator)
    source_mask = padding_mask(torch.tensor(source_lengths), max(source_lengths) + extra)
    target_mask = padding_mask(torch.tensor(target_lengths), max(target_lengths) + extra)
    pad = torch.nn.functional.pad
    source, inputs, targets = (pad(part, (0, extra)) for part in (source, tokens[:, :-1], tokens[:, 1:]))
    return PairBatch(source * source_mask, source_mask, inputs * target_mask, targets * target_mask, target_mask)


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}, {case[1]}")
def case(request):
    return request.param


@pytest.fixture
def model(case):
    return make_model(*case)
