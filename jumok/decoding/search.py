"""A search that takes requests while it runs: what happens to hypotheses from one token to the next.

add → waiting → encode → prefill (start and prefix) → [extend → constrain → choose → select]* → finished → take

- A strategy (strategy.py) chooses; constraints.py forbids; this file does the bookkeeping.
- A decoder that can search by itself (native_search.py) does so, as long as nothing else must be done at every step.
- Hypotheses live on the CPU, where they are small; logits and states stay on the model's device.

Requests can be added, dropped and taken between any two steps. What others of the batch do changes no answer, but for
shortlists: requests that run side by side share theirs.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic

import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.decoding.constraints import Constraints
from jumok.decoding.hypotheses import Continuations, Hypotheses, Hypothesis
from jumok.decoding.logits import log_sums
from jumok.decoding.requests import InputT, Marks, Request
from jumok.decoding.scoring import coverage, scored
from jumok.decoding.strategy import choose_strategy
from jumok.errors import ConfigError, RunError
from jumok.nn.model import BatchT, Decoder, EndedHypotheses, Memory, SearchRequest, StateT

# R hypotheses · S source · n tokens at once · V columns of the logits: the vocabulary, or a shortlist of it · K its tokens

# As Decoder.extend, and the source attention (R, n, S) behind each logit, averaged over heads and layers.
ObservedExtend = Callable[[Tensor, StateT], tuple[Tensor, StateT, Tensor]]

AT_ONCE = 32  # steps that a decoder may search by itself: the key-value cache gets room for as many tokens


@dataclass
class Running(Generic[StateT]):
    """The batch of a search."""

    hypotheses: Hypotheses
    state: StateT
    shortlist: Tensor | None  # (K,) the token of each column of the logits, ascending; None: columns are tokens


class Search(Generic[InputT, BatchT, StateT]):
    """Requests that wait, those that run side by side, and the answers of those that are finished."""

    def __init__(
        self,
        decoder: Decoder[BatchT, StateT],
        *,
        collate: Callable[[Sequence[InputT]], BatchT],
        options: DecodingConfig,
        marks: Marks,
        observed_extend: ObservedExtend[StateT] | None = None,
    ) -> None:
        assert not decoder.training, "call decoder.eval() first: dropout would change every answer"
        if options.coverage_penalty and observed_extend is None:
            raise ConfigError(
                f"coverage_penalty = {options.coverage_penalty} needs attention over the source, and this model has no "
                "source attention to cover; set coverage_penalty = 0"
            )
        self.decoder, self.collate, self.options, self.marks = decoder, collate, options, marks
        self.observed_extend = observed_extend if options.coverage_penalty else None
        self.constraints = Constraints(marks, options.min_length, options.no_repeat_ngram, options.repetition_penalty)
        self.strategy = choose_strategy(options, end=marks.end)
        self.decoder_may_search = self.strategy.likeliest and self.constraints.none and self.observed_extend is None
        self.takes_shortlists = decoder.restrictable and not (
            options.sample or options.no_repeat_ngram or options.repetition_penalty > 1.0
        )
        self.steps_at_once = AT_ONCE
        self.ranked = (
            True  # hypotheses of an answer stand best first; False: as they ended, copies of a step in their order
        )
        self.batch: Running[StateT] | None = None
        self._count = 0  # requests so far: the next one's id
        self._requests: dict[int, Request[InputT]] = {}  # that wait or run
        self._waiting: deque[int] = deque()
        self._running: list[int] = []
        self._ended: dict[int, list[Hypothesis]] = {}  # hypotheses of requests that run
        self._answers: dict[int, list[Hypothesis]] = {}  # of requests that are finished
        self._finished: list[int] = []  # in the step that is being taken

    @property
    def busy(self) -> bool:
        """Whether a request waits or runs."""
        return bool(self._requests)

    @property
    def room(self) -> int:
        """How many more requests the batch can take."""
        return self.options.batch_size - len(self._running)

    def add(self, requests: Sequence[Request[InputT]]) -> list[int]:
        """Let requests wait behind those that wait already, the longest of them first; return their ids."""
        for request in requests:
            assert request.shortlist is None or self.takes_shortlists, "not with this decoder or these options"
            request.check(self.options, self.marks, limit=self.decoder.limit)
        ids = list(range(self._count, self._count + len(requests)))
        self._count += len(requests)
        self._requests |= zip(ids, requests, strict=True)
        self._waiting.extend(sorted(ids, key=lambda each: (self._requests[each].length, each), reverse=True))
        return ids

    @torch.inference_mode()
    def drop(self, ids: Iterable[int]) -> None:
        """Forget requests, whether they wait, run or are finished; ids that are not there any more change nothing."""
        dropped = set(ids)
        for each in dropped:
            self._requests.pop(each, None)
            self._ended.pop(each, None)
            self._answers.pop(each, None)
        self._waiting = deque(each for each in self._waiting if each not in dropped)
        if self.batch is None or dropped.isdisjoint(self._running):
            return
        self._running = [each for each in self._running if each not in dropped]
        sentence = self.batch.hypotheses.sentence
        kept = torch.isin(sentence, torch.tensor(self._running, dtype=torch.int64)).nonzero()[:, 0]
        if not len(kept):
            self.batch = None
            return
        self.batch.hypotheses, self.batch.state = self.batch.hypotheses.select(kept), self.batch.state.select(kept)

    def take(self, request: int) -> list[Hypothesis]:
        """Return the n best hypotheses of a finished request, best first, and forget it."""
        if request not in self._answers:
            state = "not finished yet" if request in self._requests else "not in the search"
            raise KeyError(f"request {request} is {state}")
        return self._answers.pop(request)

    def so_far(self, request: int, first: int = 0) -> list[tuple[int, float]]:
        """Return the tokens of a running request's best hypothesis and their log-probabilities, from place first on."""
        if request not in self._running or self.batch is None:
            return []
        hypotheses = self.batch.hypotheses
        row = 0
        if len(hypotheses) > 1:
            row = int(hypotheses.total.masked_fill(hypotheses.sentence != request, -torch.inf).argmax())
        return [
            (int(hypotheses.tokens[row, place]), float(hypotheses.log_probabilities[row, place]))
            for place in range(first, int(hypotheses.length[row]))
        ]

    @torch.inference_mode()
    def step(self) -> list[int]:
        """Admit waiting requests once a quarter of the batch is free, else write on; return the requests finished by it.

        One token is written to each hypothesis, or more where the decoder searches by itself.
        """
        self._finished = []
        size = self.options.batch_size
        if self._waiting and (self.batch is None or 4 * self.room >= size):
            self._admit([self._waiting[place] for place in range(min(self.room, len(self._waiting)))])
        elif self.batch is not None:
            self._advance(self.batch, until=size - -(-size // 4) if self._waiting else 0)
        return self._finished

    def _admit(self, ids: list[int]) -> None:
        """Encode waiting requests, choose their first tokens and join them to those that run."""
        requests = [self._requests[each] for each in ids]
        memory = self.decoder.encode(self.collate([request.input for request in requests]))
        self._ended |= {each: [] for each in ids}
        fresh = self._begin(ids, requests, memory)
        for _ in ids:  # only now: requests that cannot be read go on waiting, and can be dropped
            self._waiting.popleft()
        self._running += ids
        if fresh is None or self.batch is None:
            self._run(fresh or self.batch)
            return
        hypotheses = self.batch.hypotheses.join(fresh.hypotheses)
        state, shortlist = self.batch.state.join(fresh.state), self._shortlist(set(hypotheses.sentence.tolist()))
        if shortlist is not None or fresh.shortlist is not None or self.batch.shortlist is not None:
            state = self.decoder.restrict(state, shortlist)
        self._run(Running(hypotheses, state, shortlist))

    def _begin(self, ids: list[int], requests: Sequence[Request[InputT]], memory: Memory) -> Running[StateT] | None:
        """Return new requests as a batch of their own, or None where their first tokens were their last."""
        source = memory.mask.cpu() if self.observed_extend is not None else memory.mask.new_zeros(len(ids), 0).cpu()
        longest = [request.longest(self.options, limit=self.decoder.limit) for request in requests]
        prefixes = [request.prefix for request in requests]
        hypotheses = Hypotheses.empty(ids, start=self.marks.start, longest=longest, prefixes=prefixes, source=source)
        shared = min(len(prefix) for prefix in prefixes)  # so much of the prefixes in one go, the rest token by token
        state, shortlist = self.decoder.start(memory), self._shortlist(ids)
        if shortlist is not None:
            state = self.decoder.restrict(state, shortlist)
        width = self.strategy.width
        copies = torch.arange(len(ids)).repeat_interleave(width)
        if self.decoder_may_search and not shared and (width == 1 or len(ids) == 1):
            # The decoder reads the start by itself; with more sentences, too many equal hypotheses would read it.
            hypotheses, state = hypotheses.select(copies), state.select(copies)
            self.strategy.begin(hypotheses)
            return Running(hypotheses, state, shortlist)
        logits, state = self._read(hypotheses, state, shortlist, shared=shared, device=memory.mask.device)
        hypotheses = hypotheses.select(copies)
        self.strategy.begin(hypotheses)
        continuing = self._choose(logits.float()[copies.to(logits.device)], hypotheses, shortlist)
        if not len(continuing.parents):
            return None
        state = state.select(copies[continuing.parents])
        return Running(hypotheses.follow(continuing), state, shortlist)

    def _read(
        self, hypotheses: Hypotheses, state: StateT, shortlist: Tensor | None, *, shared: int, device: torch.device
    ) -> tuple[Tensor, StateT]:
        """Read the start and so much of the prefixes; return the logits (R, V) behind them and the state."""
        prefix = hypotheses.prefix[:, :shared].contiguous()
        logits, state = self._extend(torch.cat([hypotheses.next[:, None], prefix], dim=1).to(device), state, hypotheses)
        if shared:
            given = logits[:, :-1].float()
            columns = prefix if shortlist is None else torch.searchsorted(shortlist, prefix)
            chosen = given.gather(2, columns.to(given.device)[..., None])[..., 0]
            log_probabilities = (chosen - log_sums(given.flatten(0, 1)).view_as(chosen)).cpu()  # as in every later step
            hypotheses.tokens[:, :shared] = prefix
            hypotheses.log_probabilities[:, :shared] = log_probabilities
            hypotheses.total = log_probabilities.sum(dim=1)
            hypotheses.length = hypotheses.length + shared
        return logits[:, -1], state

    def _advance(self, batch: Running[StateT], *, until: int) -> None:
        """Write one more token to every hypothesis, or search until so few sentences are left, where the decoder can."""
        if self._search_on(batch, until=until):
            return
        hypotheses, count = batch.hypotheses, len(batch.hypotheses)
        logits, state = self._extend(hypotheses.next[:, None], batch.state, hypotheses)
        continuing = self._choose(logits[:, -1].float(), hypotheses, batch.shortlist)
        continuing = continuing.in_place(count, self.strategy.width)
        if not len(continuing.parents):
            self._run(None)
        elif continuing.unmoved(count):  # nearly always where hypotheses never split: nothing to move or count
            batch.hypotheses, batch.state = hypotheses.append(continuing), state
        else:
            self._run(Running(hypotheses.follow(continuing), state.select(continuing.parents), batch.shortlist))

    def _search_on(self, batch: Running[StateT], *, until: int) -> bool:
        """Let the decoder search by itself for some steps; return whether it could."""
        hypotheses, width = batch.hypotheses, self.strategy.width
        if not self.decoder_may_search or self.steps_at_once < 2:
            return False
        if bool((hypotheses.length < hypotheses.prefix_length).any()):
            return False
        never = self.constraints.never(batch.shortlist)
        request = SearchRequest(width, self.steps_at_once, until, self.marks.end, never, batch.shortlist)
        result = self.decoder.search_on(batch.state, hypotheses.given(width), request)
        if result is None:
            return False
        self._file(result.ended._replace(sentence=hypotheses.sentence[result.ended.sentence * width]))
        if not len(result.sentences):
            self._run(None)
        else:
            hypotheses = hypotheses.taken_back(result.hypotheses, result.sentences, width)
            self._run(Running(hypotheses, result.state, batch.shortlist))
        return True

    def _run(self, batch: Running[StateT] | None) -> None:
        """Go on with a batch; requests that are not in it any more are finished."""
        self.batch = batch
        running = [] if batch is None else torch.unique_consecutive(batch.hypotheses.sentence).tolist()
        still = set(running)
        for each in self._running:
            if each not in still:
                del self._requests[each]
                ended = self._ended.pop(each)
                if self.ranked:
                    ended.sort(key=lambda hypothesis: -hypothesis.score)
                self._answers[each] = ended[: self.options.n_best]
                self._finished.append(each)
        self._running = running

    def _extend(self, tokens: Tensor, state: StateT, hypotheses: Hypotheses) -> tuple[Tensor, StateT]:
        """Let the decoder read tokens (R, n); return logits (R, n, V) and the new state."""
        if self.observed_extend is None:
            return self.decoder.extend(tokens, state)
        logits, state, attention = self.observed_extend(tokens, state)
        # A state may drop padding that its sentences outlived.
        width = min(attention.shape[2], hypotheses.covered.shape[1])
        hypotheses.covered[:, :width] += attention[:, :, :width].sum(dim=1).float().cpu()
        return logits, state

    def _shortlist(self, ids: Iterable[int]) -> Tensor | None:
        """Return the union of the requests' shortlists and forced prefixes, or None for the whole vocabulary."""
        shortlists, forced = [], [self.marks.end]
        for request in (self._requests[each] for each in ids):
            if request.shortlist is None:
                return None
            shortlists.append(request.shortlist)
            forced += request.prefix
        tokens = torch.cat([torch.tensor(forced), *shortlists])
        allowed = torch.zeros(int(tokens.max()) + 1, dtype=torch.bool)
        allowed[tokens] = True
        return allowed.nonzero()[:, 0]

    def _choose(self, logits: Tensor, hypotheses: Hypotheses, shortlist: Tensor | None) -> Continuations:
        """Return the continuations after logits (R, V), which are written into, and file hypotheses that end."""
        normaliser = log_sums(logits)
        if not normaliser.isfinite().all():
            raise RunError(
                "the model's scores of the next token are no numbers (NaN, or beyond all bounds): its weights are damaged, or "
                "its training diverged; use another checkpoint, or train it anew"
            )
        self.constraints.apply(logits, hypotheses, shortlist)
        continuing, ending = self.strategy.advance(logits, normaliser, hypotheses, shortlist)
        if len(ending.parents):
            ended = hypotheses.follow(ending)
            self._file(
                EndedHypotheses(ended.sentence, ended.length, ended.total, ended.tokens, ended.log_probabilities),
                covered=None if self.observed_extend is None else coverage(ended),
            )
        return continuing

    def _file(self, ended: EndedHypotheses, *, covered: Tensor | None = None) -> None:
        """Keep hypotheses that have ended, whose sentences are ids of requests, until their requests are finished."""
        for each, hypothesis in scored(ended, self.options, end=self.marks.end, covered=covered):
            self._ended[each].append(hypothesis)
