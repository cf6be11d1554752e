"""Continuations ordered so that hypotheses need not move: the same ones, each where its parent stood if it can."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.decoding.beam import IMPOSSIBLE, in_their_places
from jumok.decoding.hypotheses import Continuations


@st.composite
def continuations(draw):
    """Return continuations of some of the sentences of a beam, how many hypotheses there were, and its width."""
    width, sentences = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    kept = [number for number in range(sentences) if draw(st.booleans())]
    parents = [width * number + draw(st.integers(0, width - 1)) for number in kept for _ in range(width)]
    number = torch.arange(len(parents))
    return Continuations(torch.tensor(parents, dtype=torch.int64), number, number.float()), width * sentences, width


@given(continuations())
def test_nothing_is_lost_and_whatever_can_stays(case):
    given_ones, count, width = case
    found = given_ones.in_place(count, width)
    assert sorted(found.tokens.tolist()) == given_ones.tokens.tolist()
    assert found.parents.equal(given_ones.parents[found.tokens])
    assert found.log_probabilities.equal(found.tokens.float())
    blocks = found.parents.view(-1, width)
    own = blocks[:, 0] // width
    assert (blocks // width == own[:, None]).all(), "the hypotheses of a sentence stand side by side"
    for place in range(len(blocks)):
        if width * place in [width * number for number in (given_ones.parents // width).tolist()]:
            assert own[place] == place, "a sentence whose place is still there stays"


@given(st.integers(1, 5), st.data())
def test_continuations_of_one_sentence_stay_where_their_hypotheses_stood(width, data):
    rows = data.draw(st.lists(st.integers(0, width - 1), min_size=1, max_size=width))
    beam = [(3 * width + row, number, -float(number)) for number, row in enumerate(rows)]
    found = in_their_places(beam, width)
    assert len(found) == width
    assert sorted(candidate for candidate in found if candidate[2] != IMPOSSIBLE) == sorted(beam)
    assert all(candidate[:2] == beam[0][:2] for candidate in found if candidate[2] == IMPOSSIBLE)
    for row in set(rows):
        assert found[row] == beam[rows.index(row)], "the best continuation stands where its hypothesis stood"


def test_hypotheses_that_are_not_in_blocks_keep_their_order():
    uneven = Continuations(torch.tensor([0, 2, 3]), torch.tensor([5, 6, 7]), torch.zeros(3))
    assert uneven.in_place(4, 2) is uneven
    torn = Continuations(torch.tensor([1, 2, 3, 5]), torch.tensor([5, 6, 7, 8]), torch.zeros(4))
    assert torn.in_place(6, 2) is torn
    nobody = Continuations(*(torch.zeros(0, dtype=torch.int64) for _ in range(3)))
    assert nobody.in_place(6, 2) is nobody
