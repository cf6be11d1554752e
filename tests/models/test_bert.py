"""BERT: equal to Hugging Face's on the same weights, and padding changes nothing."""

import pytest
import torch
from torch.testing import assert_close

from jumok.errors import ConfigError
from jumok.models.bert import Bert, BertConfig
from jumok.nn.batch import LabelBatch
from jumok.nn.masks import padding_mask

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
SIZES = {"vocabulary": 31, "layers": 2, "width": 24, "heads": 3, "feedforward": 17, "max_positions": 12}
LENGTHS = torch.tensor([9, 4, 7])


def build(**changes):
    torch.manual_seed(3)
    model = Bert(BertConfig(**SIZES | changes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # norms and biases start at 1 and 0: too easy
    return model


def texts(extra=0, *, segments=True):
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(4, 31, (3, 9), generator=generator)
    halves = (torch.arange(9) >= 3).long().expand(3, -1)
    filler = torch.full((3, extra), 17)
    return LabelBatch(
        torch.cat([source, filler], dim=1), padding_mask(LENGTHS, 9 + extra), torch.zeros(3),
        torch.cat([halves, filler * 0], dim=1) if segments else None,
    )  # fmt: skip


def copy_to(ours, theirs, *, prefix="bert."):
    """Copy the weights of Hugging Face's model into ours."""
    weights = theirs.state_dict()
    parts = {
        "embeddings.word_embeddings": ours.table, "embeddings.token_type_embeddings": ours.segments,
        "embeddings.LayerNorm": ours.norm, "pooler.dense": ours.first,
    }  # fmt: skip
    with torch.no_grad():
        ours.places.table.copy_(weights[f"{prefix}embeddings.position_embeddings.weight"])
        for number, layer in enumerate(ours.encoder.layers):
            place, attention = f"encoder.layer.{number}", layer.attention
            for part in ("weight", "bias"):
                three = [weights[f"{prefix}{place}.attention.self.{name}.{part}"] for name in ("query", "key", "value")]
                getattr(attention.query_key_value, part).copy_(torch.cat(three))
            parts |= {
                f"{place}.attention.output.dense": attention.output,
                f"{place}.attention.output.LayerNorm": layer.around_attention.norm,
                f"{place}.intermediate.dense": layer.feedforward.expand,
                f"{place}.output.dense": layer.feedforward.contract,
                f"{place}.output.LayerNorm": layer.around_feedforward.norm,
            }
        for name, part in parts.items():
            for kind, parameter in part.named_parameters():
                parameter.copy_(weights[f"{prefix}{name}.{kind}"])


def hugging_face(kind, **changes):
    import transformers

    config = transformers.BertConfig(
        vocab_size=31, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=17,
        max_position_embeddings=12, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=0, **changes,
    )  # fmt: skip
    torch.manual_seed(5)
    model = getattr(transformers, kind)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def ask(theirs, batch):
    return theirs(input_ids=batch.source, attention_mask=batch.source_mask, token_type_ids=batch.segments)


@torch.no_grad()
def test_gaps_are_filled_as_hugging_face_fills_them():
    theirs, ours, batch = hugging_face("BertForPreTraining"), build(), texts()
    copy_to(ours, theirs)
    heads = theirs.cls
    for mine, other in (
        (ours.transform, heads.predictions.transform.dense), (ours.transform_norm, heads.predictions.transform.LayerNorm),
        (ours.next_sentence, heads.seq_relationship),
    ):  # fmt: skip
        mine.load_state_dict(other.state_dict())
    ours.project.bias.copy_(heads.predictions.bias)
    answer = ask(theirs, batch)
    assert_close(ours(batch)[batch.source_mask], answer.prediction_logits[batch.source_mask], **CLOSE)
    assert_close(
        ours.next_sentence(ours.pooled(ours.states(batch), batch.source_mask)), answer.seq_relationship_logits, **CLOSE
    )


@torch.no_grad()
def test_classes_are_named_as_hugging_face_names_them():
    theirs, ours = hugging_face("BertForSequenceClassification", num_labels=5), build(classes=5)
    copy_to(ours, theirs)
    ours.project.load_state_dict(theirs.classifier.state_dict())
    for segments in (True, False):
        batch = texts(segments=segments)
        assert_close(ours(batch), ask(theirs, batch).logits, **CLOSE)


@pytest.mark.parametrize(
    "changes",
    [{}, {"norm_position": "pre"}, {"classes": 3}, {"classes": 3, "pooling": "mean"}, {"positions": "sinusoidal"}],
    ids=str,
)
def test_padding_changes_nothing(changes):
    model = build(**changes)
    plain, padded = model(texts()), model(texts(extra=3))
    if "classes" in changes:
        assert_close(padded, plain, **CLOSE)
    else:
        assert_close(padded[:, :9][texts().source_mask], plain[texts().source_mask], **CLOSE)


def test_every_place_sees_both_ways():
    model, batch = build(), texts()
    changed = batch.source.clone()
    changed[:, 2] = (changed[:, 2] + 1) % 31
    other = LabelBatch(changed, batch.source_mask, batch.labels, batch.segments)
    assert ((model(other) - model(batch)).abs().amax(dim=2) > 1e-6)[batch.source_mask].all()


@torch.no_grad()
def test_a_text_as_a_whole_is_its_first_place_or_the_mean_of_its_places():
    first, mean, batch = build(classes=3), build(classes=3, pooling="mean"), texts()
    mean.load_state_dict(first.state_dict())
    states = first.states(batch)
    for row, length in enumerate(LENGTHS.tolist()):
        assert_close(
            mean.pooled(states, batch.source_mask)[row], torch.tanh(mean.first(states[row, :length].mean(dim=0)))
        )
        assert_close(first.pooled(states, batch.source_mask)[row], torch.tanh(first.first(states[row, 0])))


def test_the_segments_are_told_apart():
    assert not torch.allclose(build(classes=2)(texts()), build(classes=2)(texts(segments=False)))


def test_heads_must_share_the_width():
    with pytest.raises(ConfigError, match=r"model.width \(25\) must be a multiple of model.heads \(3\)"):
        BertConfig.parse(SIZES | {"width": 25}, "model")
