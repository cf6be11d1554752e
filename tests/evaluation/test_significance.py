"""The paired bootstrap: sacreBLEU's resamples, a p that does not cry wolf."""

import random

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from jumok.evaluation import significance
from jumok.evaluation.significance import paired_bootstrap

WORDS = [f"w{number}" for number in range(50)]


def corpus(generator: random.Random, sentences: int) -> list[str]:
    return [" ".join(generator.choices(WORDS, k=generator.randint(6, 14))) for _ in range(sentences)]


def spoilt(texts: list[str], share: float, generator: random.Random) -> list[str]:
    """Return texts with a share of their words replaced."""
    return [
        " ".join(generator.choice(WORDS) if generator.random() < share else word for word in text.split())
        for text in texts
    ]


@pytest.fixture(scope="module")
def texts() -> tuple[list[list[str]], list[str]]:
    """Three systems, the second a little better and the third much worse than the first; and the references."""
    generator = random.Random(7)
    references = corpus(generator, 101)
    return [spoilt(references, share, generator) for share in (0.3, 0.27, 0.6)], references


@pytest.mark.parametrize("metric", [BLEU, CHRF])
def test_intervals_and_sacrebleus_p_are_sacrebleus(texts, metric, monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    systems, references = texts
    named = [(str(number), written) for number, written in enumerate(systems)]
    signatures, columns = PairedTest(named, {"score": metric()}, [references], test_type="bs")()
    wanted = next(column for name, column in columns.items() if name != "System")
    found, signature = paired_bootstrap(systems, references, metric=metric())
    assert [run.interval for run in found] == pytest.approx([result.ci for result in wanted], abs=1e-4)
    assert [run.sacrebleu_p for run in found] == pytest.approx([result.p_value for result in wanted], abs=0.0021)
    assert signature == str(next(iter(signatures.values())))


def test_clear_differences_are_significant_and_slight_ones_are_not(texts):
    systems, references = texts
    baseline, slight, clear = paired_bootstrap(systems, references, metric=BLEU())[0]
    assert baseline.p is None
    assert slight.p > 0.05
    assert clear.p == pytest.approx(1 / 1001)


def test_a_system_does_not_differ_from_itself(texts):
    """sacreBLEU's own p is 0.001 here, the smallest there is."""
    systems, references = texts
    found, _ = paired_bootstrap([systems[0], list(systems[0])], references, metric=BLEU())
    assert found[1].p == 1.0


def test_it_is_seeded_whatever_the_environment_says(texts, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", "none")
    systems, references = texts
    assert paired_bootstrap(systems, references, metric=BLEU()) == paired_bootstrap(systems, references, metric=BLEU())


def test_equally_good_systems_seldom_differ(monkeypatch):
    """At 0.05 about one pair in twenty may be called different; more than one in ten would be a broken test."""
    monkeypatch.setattr(significance, "RESAMPLES", 100)
    alarms = 0
    for trial in range(120):
        generator = random.Random(trial)
        references = corpus(generator, 60)
        systems = [spoilt(references, 0.2, generator) for _ in range(2)]
        alarms += paired_bootstrap(systems, references, metric=BLEU())[0][1].p < 0.05
    assert alarms <= 12
