"""A batch of hypotheses in the making: what a search does with it from one token to the next.

encode → prefill (start and prefix) → [extend → constrain → choose → select rows]* → hypotheses

- A strategy (beam.py, sampling.py) chooses; constraints.py forbids; this file keeps the books.
- A decoder that can search by itself (decoding/frontier.py) does so, as long as nothing asks for a look at every step.
- The books (Rows) live on the CPU, where they are small; logits and states stay on the model's device.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.decoding.beam import Beam
from jumok.decoding.constraints import Constraints
from jumok.decoding.hypotheses import Choice, Hypothesis, Rows, Step
from jumok.decoding.logits import log_sums
from jumok.decoding.sampling import Greedy, Sampler
from jumok.errors import ConfigError
from jumok.nn.model import Decoder, DecoderState, OpenHypotheses, SearchRequest

# B new sentences · R rows · T room for tokens · P longest prefix · S source · n tokens at once · V vocabulary

# As Decoder[Any, Any].extend, and the source attention (R, n, S) behind each logit, averaged over heads and layers.
ObservedExtend = Callable[[Tensor, Any], tuple[Tensor, Any, Tensor]]

AT_ONCE = 32  # steps that a decoder may search by itself: as many places are made room for
UNSEEN = 1e-6  # least attention that coverage counts, so that its logarithm exists


class Strategy(Protocol):
    """What chooses the next tokens."""

    rows_each: int

    def begin(self, rows: Rows) -> None:
        """Prepare rows of new sentences, rows_each of them a sentence."""

    def advance(self, logits: Tensor, normaliser: Tensor, rows: Rows, words: Tensor | None = None) -> Step:
        """Choose from constrained logits (R, V) of words (V,), of all where None; their log-sum was normaliser (R,)."""


class Search:
    """A batch of hypotheses in the making, and those that are found."""

    def __init__(
        self,
        decoder: Decoder[Any, Any],
        inputs: Sequence[Any],
        *,
        collate: Callable[[Sequence[Any]], Any],
        lengths: Sequence[int],
        options: DecodingConfig,
        start: int,
        end: int,
        pad: int,
        prefixes: Sequence[Sequence[int]] | None = None,
        limit: int = 0,
        observed_extend: ObservedExtend | None = None,
        shortlists: Sequence[Tensor] | None = None,
        special_start: bool = True,
    ) -> None:
        assert not getattr(decoder, "training", False), "call decoder.eval() first: dropout would change every answer"
        assert len(lengths) == len(inputs), f"{len(lengths)} lengths for {len(inputs)} inputs"
        assert prefixes is None or len(prefixes) == len(inputs), "a prefix for each input, or none at all"
        if options.coverage_penalty and observed_extend is None:
            raise ConfigError(
                f"coverage_penalty = {options.coverage_penalty} needs attention over the source, and this model has no "
                "source attention to cover; set coverage_penalty = 0"
            )
        self.decoder, self.inputs, self.collate, self.options = decoder, inputs, collate, options
        self.start, self.end = start, end
        self.prefixes = prefixes if prefixes is not None else [()] * len(inputs)
        self.longest = [_longest(length, options, limit=limit) for length in lengths]
        for prefix, longest in zip(self.prefixes, self.longest, strict=True):
            _check_prefix(prefix, longest, end=end)
        self.observed_extend = observed_extend if options.coverage_penalty else None
        self.shortlists = shortlists
        self.words: Tensor | None = None  # (K,): the tokens that logits are of, in order; None: of all
        self.constraints = Constraints(
            start if special_start else pad,
            end,
            pad,
            options.min_length,
            options.no_repeat_ngram,
            options.repetition_penalty,
        )
        self.strategy = choose_strategy(options, end=end)
        self.by_itself = (  # whether nothing asks for a look at every step
            isinstance(self.strategy, Greedy | Beam) and self.constraints.plain and self.observed_extend is None
        )
        self.at_once = AT_ONCE
        self.found: list[list[Hypothesis]] = [[] for _ in inputs]
        self.rows: Rows | None = None
        self.state: DecoderState | None = None
        self.next: Tensor = torch.zeros(0, dtype=torch.int64)  # (R,): tokens chosen, not yet fed to the decoder
        self.running = 0  # sentences that have rows

    @property
    def room(self) -> int:
        """How many more sentences the batch can take."""
        return self.options.batch_size - self.running

    def admit(self, indices: Sequence[int]) -> None:
        """Encode new sentences, choose their first tokens and join them to those that run."""
        memory = self.decoder.encode(self.collate([self.inputs[index] for index in indices]))
        rows = self._open(indices, mask=memory.mask)
        shared = int(rows.prefix_length.min())  # this much of the prefixes in one go, the rest token by token
        words = self._words(indices)
        state = self._restrict(self.decoder.start(memory), words)
        width = self.strategy.rows_each
        if (
            self.by_itself and not shared and (width == 1 or len(rows) == 1)
        ):  # else too many equal rows would read the start
            copies = torch.arange(len(rows)).repeat_interleave(width)
            rows, state, chosen = rows.select(copies), state.select(copies), torch.full((len(copies),), self.start)
            self.strategy.begin(rows)
        else:
            rows, state, chosen = self._first(rows, state, words, shared=shared, device=memory.mask.device)
            if not len(rows):
                return
        if self.rows is not None and self.state is not None:
            rows, state = self.rows.join(rows), self.state.join(state)
            words = self._words(sorted(set(rows.sentence.tolist())))
            state = self._restrict(state, words)
        self.words = words
        self._run(rows, state, torch.cat([self.next, chosen]))

    def _first(
        self, rows: Rows, state: Any, words: Tensor | None, *, shared: int, device: torch.device
    ) -> tuple[Rows, Any, Tensor]:
        """Read the start and so much of the prefixes; return the rows that go on, their state and first tokens."""
        start = torch.full((len(rows), 1), self.start)
        tokens = torch.cat([start, rows.prefix[:, :shared]], dim=1).to(device)
        logits, state = self._extend(tokens, state, rows)
        if shared:
            given = logits[:, :-1].float()
            places = tokens[:, 1:] if words is None else torch.searchsorted(words, rows.prefix[:, :shared].contiguous())
            chosen = given.gather(2, places.to(given.device)[..., None])[..., 0]
            log_probabilities = chosen - log_sums(given.flatten(0, 1)).view_as(chosen)  # as in every later step
            rows.tokens[:, :shared] = rows.prefix[:, :shared]
            rows.log_probabilities[:, :shared] = log_probabilities.cpu()
            rows.total = log_probabilities.sum(dim=1).cpu()
            rows.length = rows.length + shared
        copies = torch.arange(len(rows)).repeat_interleave(self.strategy.rows_each)
        rows = rows.select(copies)
        self.strategy.begin(rows)
        going = self._choose(logits[:, -1].float()[copies.to(logits.device)], rows, words)
        if not len(going.parents):
            return rows.select(going.parents), state, going.tokens
        return rows.follow(going), state.select(copies[going.parents]), going.tokens

    def step(self, until: int = 0) -> None:
        """Write one more token to every row, or go on until so few sentences are left, where the decoder can by itself."""
        assert self.rows is not None
        assert self.state is not None
        rows, state, old = self.rows, self.state, len(self.rows)
        if self._search_on(rows, state, until=until):
            return
        logits, state = self._extend(self.next[:, None], state, rows)
        going = self._choose(logits[:, -1].float(), rows, self.words).in_place(old, self.strategy.rows_each)
        if not len(going.parents):
            self._run(None, None, going.tokens)
            return
        if going.unmoved(old):  # as nearly always when one hypothesis a sentence is written: nothing to count again
            self.rows, self.state, self.next = rows.follow(going), state, going.tokens
        else:
            self._run(rows.follow(going), state.select(going.parents), going.tokens)

    def _search_on(self, rows: Rows, state: DecoderState, *, until: int) -> bool:
        """Let the decoder search by itself for some steps; return whether it could."""
        if not self.by_itself or self.at_once < 2 or bool((rows.length < rows.prefix_length).any()):
            return False
        width = self.strategy.rows_each
        hypotheses = OpenHypotheses(
            self.next, rows.total, rows.tokens, rows.log_probabilities,
            longest=rows.longest[::width].contiguous(), ended=rows.ended[::width].contiguous(),
        )  # fmt: skip
        never = self.constraints.never_among(self.words)
        request = SearchRequest(width, self.at_once, until, self.end, never, self.words)
        result = self.decoder.search_on(state, hypotheses, request)
        if result is None:
            return False
        hypotheses, ended = result.hypotheses, result.ended
        self._file(rows.sentence[ended.sentence * width], *ended[1:])
        if not len(result.sentences):
            self._run(None, None, hypotheses.next)
            return True
        if len(hypotheses.next) < len(rows):
            rows = rows.select((result.sentences[:, None] * width + torch.arange(width)).flatten())
        rows.total, rows.tokens, rows.log_probabilities = (
            hypotheses.total,
            hypotheses.tokens,
            hypotheses.log_probabilities,
        )
        rows.ended = hypotheses.ended.repeat_interleave(width)
        rows.length = result.state.cache.lengths.clone()
        self._run(rows, result.state, hypotheses.next)
        return True

    def _run(self, rows: Rows | None, state: DecoderState | None, tokens: Tensor) -> None:
        self.rows, self.state, self.next = rows, state, tokens
        self.running = 0 if rows is None else len(torch.unique_consecutive(rows.sentence))

    def _open(self, indices: Sequence[int], *, mask: Tensor) -> Rows:
        """Return a fresh row for each sentence."""
        prefixes = [torch.tensor(self.prefixes[index], dtype=torch.int64) for index in indices]
        longest = torch.tensor([self.longest[index] for index in indices])
        count, room = len(indices), int(longest.max())
        source = mask.cpu() if self.observed_extend is not None else mask.new_zeros(count, 0).cpu()
        return Rows(
            sentence=torch.tensor(indices),
            longest=longest,
            length=torch.zeros(count, dtype=torch.int64),
            total=torch.zeros(count),
            ended=torch.zeros(count, dtype=torch.int64),
            tokens=torch.zeros(count, room, dtype=torch.int64),
            log_probabilities=torch.zeros(count, room),
            prefix=torch.nn.utils.rnn.pad_sequence(prefixes, batch_first=True),
            prefix_length=torch.tensor([len(prefix) for prefix in prefixes]),
            noise=torch.zeros(count, 0),
            covered=torch.zeros(source.shape),
            source=source,
        )

    def _extend(self, tokens: Tensor, state: DecoderState, rows: Rows) -> tuple[Tensor, Any]:
        """Feed tokens (R, n) to the decoder; return logits (R, n, V) and the new state."""
        if self.observed_extend is None:
            return self.decoder.extend(tokens, state)
        logits, state, attention = self.observed_extend(tokens, state)
        width = min(attention.shape[2], rows.covered.shape[1])  # a state may drop padding that its sentences outlived
        rows.covered[:, :width] += attention[:, :, :width].sum(dim=1).float().cpu()
        return logits, state

    def _words(self, indices: Sequence[int]) -> Tensor | None:
        """Return the tokens worth trying for some sentences, those of their prefixes included; None: all."""
        if self.shortlists is None:
            return None
        forced = [token for index in indices for token in self.prefixes[index]]
        everything = torch.cat([torch.tensor([self.end, *forced]), *(self.shortlists[index] for index in indices)])
        tried = torch.zeros(int(everything.max()) + 1, dtype=torch.bool)
        tried[everything] = True
        return tried.nonzero()[:, 0]

    def _restrict(self, state: Any, words: Tensor | None) -> Any:
        return state if words is None else self.decoder.restrict(state, words)

    def _choose(self, logits: Tensor, rows: Rows, words: Tensor | None) -> Choice:
        """Return what goes on after logits (R, V) of words, and file what is found. Writes into logits."""
        normaliser = log_sums(logits)
        self.constraints.apply(logits, rows, words)
        going, closing = self.strategy.advance(logits, normaliser, rows, words)
        self._close(closing, rows)
        return going

    def _close(self, closing: Choice, rows: Rows) -> None:
        """File the rows that end with a choice."""
        if not len(closing.parents):
            return
        rows = rows.select(closing.parents).follow(closing._replace(parents=torch.arange(len(closing.parents))))
        uncovered = None
        if self.observed_extend is not None:  # GNMT (Wu et al. 2016), section 7
            uncovered = rows.covered.clamp(min=UNSEEN, max=1.0).log().masked_fill(~rows.source, 0.0).sum(dim=1)
        self._file(rows.sentence, rows.length, rows.total, rows.tokens, rows.log_probabilities, uncovered=uncovered)

    def _file(
        self,
        sentences: Tensor,
        lengths: Tensor,
        totals: Tensor,
        tokens: Tensor,
        each: Tensor,
        *,
        uncovered: Tensor | None = None,
    ) -> None:
        """Turn what ends here into hypotheses."""
        scores = totals / lengths**self.options.length_penalty
        if uncovered is not None:
            scores = scores + self.options.coverage_penalty * uncovered
        columns = (sentences, lengths, totals, scores, tokens, each)
        for sentence, length, total, score, ids, chances in zip(*(column.tolist() for column in columns), strict=True):
            finished = ids[length - 1] == self.end
            words = ids[: length - 1] if finished else ids[:length]
            self.found[sentence].append(Hypothesis(words, finished, total, score, chances[:length]))


def choose_strategy(options: DecodingConfig, *, end: int) -> Strategy:
    """Return what options ask for: random draws, greedy choice or a beam."""
    if options.sample:
        return Sampler(options, end=end)
    if options.beam == 1:
        return Greedy(end=end)
    return Beam(options.beam, end=end)


def _longest(length: int, options: DecodingConfig, *, limit: int) -> int:
    longest = options.max_length or 2 * length + 10
    return min(longest, limit) if limit > 0 else longest


def _check_prefix(prefix: Sequence[int], longest: int, *, end: int) -> None:
    if end in prefix:
        raise ConfigError(f"a prefix must not hold the end token ({end}); cut it before: {list(prefix)}")
    if len(prefix) >= longest:
        raise ConfigError(
            f"a prefix of {len(prefix)} tokens leaves no room in an answer of at most {longest}; "
            "shorten it or raise max_length"
        )
