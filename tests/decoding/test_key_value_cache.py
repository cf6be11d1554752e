"""One new token of hypotheses of any lengths: attention in C finds what torch finds, and the cache remembers the same."""

import pytest
import torch
from torch.testing import assert_close

from jumok.decoding.key_value_cache import KeyValueCache
from jumok.native.build import kernels
from jumok.nn.attention import attend

ROWS, LAYERS, TEXT, STEPS = 5, 2, 7, 21


def begun(heads, width, *, room, generator):
    """Return a cache of hypotheses of different lengths."""
    cache = KeyValueCache(ROWS, LAYERS, room=room)
    for layer in range(LAYERS):
        cache.append(layer, *torch.randn(2, ROWS, heads, TEXT, width, generator=generator))
    return cache.moved(torch.tensor([7, 2, 2, 5, 1]))


@pytest.mark.skipif(kernels() is None, reason="no C compiler")
@pytest.mark.parametrize("room", [0, TEXT + 3])
@pytest.mark.parametrize(("heads", "width"), [(2, 32), (3, 48), (1, 64), (3, 11)])
def test_attention_in_c_is_attention(heads, width, room):
    generators = [torch.Generator().manual_seed(3) for _ in range(2)]
    plain, fast = (begun(heads, width, room=room, generator=generator) for generator in generators)
    for step in range(STEPS):  # past the room that rows have at first
        if step == STEPS // 2:
            chosen = torch.tensor([4, 3, 3, 0, 1, 1])
            plain, fast = plain.select(chosen), fast.select(chosen)
        joined = torch.randn(plain.rows, 1, 3 * heads * width, generator=generators[0])
        assert fast.attends(joined)
        query, key, value = joined.view(plain.rows, 1, 3, heads, width).permute(2, 0, 3, 1, 4)
        for layer in range(LAYERS):
            keys, values, mask, causal = plain.append(layer, key, value)
            wanted = attend(query, keys, values, mask, causal=causal, scale=0.3).transpose(1, 2).flatten(2)
            assert_close(fast.attend(layer, joined, scale=0.3), wanted, atol=1e-5, rtol=1e-4)
        plain.advance(1)
        fast.advance(1)
    assert_close(fast.lengths, plain.lengths)


def test_it_serves_one_token_of_hypotheses_that_have_begun():
    cache, one, two = KeyValueCache(3, 1), torch.zeros(3, 1, 12), torch.zeros(3, 2, 12)
    assert not cache.attends(one)
    cache.append(0, *torch.zeros(2, 3, 2, 4, 2))
    cache.advance(4)
    assert cache.attends(one) == (kernels() is not None)
    assert not cache.attends(two)
    assert not cache.attends(one.double())
