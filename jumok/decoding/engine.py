"""The one search loop: it drives any StepDecoder and knows nothing about what is inside.

inputs → longest first → encode → prefill (start and prefix) → [extend → constrain → choose → select rows]* → hypotheses

- A strategy (beam.py, sampling.py) chooses; constraints.py forbids; this file keeps the books and the batch full.
- Sentences that are done leave the batch at once. Waiting ones take their room as soon as a quarter of it is free:
  they are encoded, prefilled and joined to the running rows, which may be at different lengths.
- The books (Rows) live on the CPU, where they are small; logits and states stay on the model's device.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from jumok.config import DecodingConfig
from jumok.decoding.beam import Beam
from jumok.decoding.constraints import Constraints
from jumok.decoding.logits import log_sums
from jumok.decoding.rows import Choice, Hypothesis, Rows, Step
from jumok.decoding.sampling import Greedy, Sampler, settle
from jumok.errors import ConfigError
from jumok.nn.state import DecoderState, StepDecoder

# B new sentences · R rows · T room for tokens · P longest prefix · S source · n tokens at once · V vocabulary

# As StepDecoder.extend, and the source attention (R, n, S) behind each logit, averaged over heads and layers.
ObservedExtend = Callable[[Tensor, Any], tuple[Tensor, Any, Tensor]]

AT_ONCE = 16  # tokens that a greedy search may write in one go: as many places are made room for
UNSEEN = 1e-6  # least attention that coverage counts, so that its logarithm exists


class Strategy(Protocol):
    """What chooses the next tokens."""

    rows_each: int

    def begin(self, rows: Rows) -> None:
        """Prepare rows of new sentences, rows_each of them a sentence."""

    def advance(self, logits: Tensor, normaliser: Tensor, rows: Rows, words: Tensor | None = None) -> Step:
        """Choose from constrained logits (R, V) of words (V,), of all where None; their log-sum was normaliser (R,)."""


def generate(
    decoder: StepDecoder,
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
    progress: Callable[[int], None] | None = None,
    observed_extend: ObservedExtend | None = None,
    shortlists: Sequence[Tensor] | None = None,
) -> list[list[Hypothesis]]:
    """Return the n best hypotheses of each input, best first, in the order of the inputs.

    lengths are those of the sources, limit the most tokens the model can write (0: any number). progress is told how
    many sentences are done since it was last called. observed_extend is needed for a coverage penalty. shortlists are
    the tokens worth trying for each input, where not all are; inputs that run side by side share theirs.
    """
    with torch.inference_mode():
        search = Search(
            decoder, inputs, collate=collate, lengths=lengths, options=options, start=start, end=end, pad=pad,
            prefixes=prefixes, limit=limit, observed_extend=observed_extend, shortlists=shortlists,
        )  # fmt: skip
        waiting = sorted(range(len(inputs)), key=lambda index: lengths[index])  # the longest last: taken from the end
        done = 0
        while waiting or search.rows is not None:
            if waiting and (search.rows is None or 4 * search.room >= options.batch_size):
                search.admit([waiting.pop() for _ in range(min(search.room, len(waiting)))])
            else:
                search.step()
            reached = len(inputs) - len(waiting) - search.running
            if progress is not None and reached > done:
                progress(reached - done)
            done = reached
    ranked = (sorted(found, key=lambda hypothesis: -hypothesis.score) for found in search.found)
    return [found[: options.n_best] for found in ranked]


@torch.inference_mode()
def stream(
    decoder: StepDecoder,
    source: Any,
    *,
    collate: Callable[[Sequence[Any]], Any],
    length: int,
    options: DecodingConfig,
    start: int,
    end: int,
    pad: int,
    prefix: Sequence[int] = (),
    limit: int = 0,
    special_start: bool = True,
) -> Iterator[tuple[int, float]]:
    """Yield the tokens of one input's answer and their log-probabilities as they are chosen, the end left out.

    special_start says that start is a mark of its own, which is never written.
    Drawn at random when options.sample, else greedy whatever the beam: a beam knows its first word only at the end.
    """
    single = options.model_copy(update={"beam": 1, "n_best": 1, "coverage_penalty": 0.0})
    search = Search(
        decoder, [source], collate=collate, lengths=[length], options=single, start=start, end=end, pad=pad,
        prefixes=[prefix], limit=limit, special_start=special_start,
    )  # fmt: skip
    search.at_once = 1  # each word is shown when it is written
    search.admit([0])
    told = 0
    while search.rows is not None:
        written = int(search.rows.length[0])
        for place in range(told, written):
            yield int(search.rows.tokens[0, place]), float(search.rows.log_probabilities[0, place])
        told = written
        search.step()
    answer = search.found[0][0]
    yield from list(zip(answer.tokens, answer.token_log_probabilities, strict=False))[told:]


class Search:
    """A batch of hypotheses in the making, and those that are found."""

    def __init__(
        self,
        decoder: StepDecoder,
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
        self.strategy = choose_strategy(options, sentences=len(inputs), end=end)
        self.greedy = (  # and nothing asks for a look at every step
            isinstance(self.strategy, Greedy)
            and self.constraints.plain
            and self.observed_extend is None
            and shortlists is None
            and hasattr(decoder, "write_on")
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
        start = torch.full((len(rows), 1), self.start)
        tokens = torch.cat([start, rows.prefix[:, :shared]], dim=1).to(memory.mask.device)
        words = self._words(indices)
        logits, state = self._extend(tokens, self._restrict(self.decoder.start(memory), words), rows)
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
            return
        rows, state = rows.follow(going), state.select(copies[going.parents])
        if self.rows is not None and self.state is not None:
            rows, state = self.rows.join(rows), self.state.join(state)
            words = self._words(sorted(set(rows.sentence.tolist())))
            state = self._restrict(state, words)
        self.words = words
        self._run(rows, state, torch.cat([self.next, going.tokens]))

    def step(self) -> None:
        """Write one more token to every row, or several where nothing else can happen in between."""
        assert self.rows is not None
        assert self.state is not None
        rows, state, old = self.rows, self.state, len(self.rows)
        written = self._write_on(rows, state)
        if written is None:
            logits, state = self._extend(self.next[:, None], state, rows)
            going = self._choose(logits[:, -1].float(), rows, self.words).in_place(old, self.strategy.rows_each)
        else:
            tokens, chances = written
            rows.write(tokens[:, :-1], chances[:, :-1])
            chosen = settle(chances[:, -1:], tokens=tokens[:, -1:], rows=rows, end=self.end)
            self._close(chosen.closing, rows)
            going = chosen.going.in_place(old, 1)
        if not len(going.parents):
            self._run(None, None, going.tokens)
            return
        if going.unmoved(old):  # as nearly always when one hypothesis a sentence is written: nothing to count again
            self.rows, self.state, self.next = rows.follow(going), state, going.tokens
        else:
            self._run(rows.follow(going), state.select(going.parents), going.tokens)

    def _write_on(self, rows: Rows, state: DecoderState) -> tuple[Tensor, Tensor] | None:
        """Return tokens and log-probabilities (R, n) of a greedy search in one go, or None where it takes steps of one."""
        if not self.greedy or bool((rows.length < rows.prefix_length).any()):
            return None
        most = min(self.at_once, int((rows.longest - rows.length).min()))
        if most < 2:
            return None
        found: tuple[Tensor, Tensor] | None = self.decoder.write_on(  # type: ignore[attr-defined]
            self.next, state, most=most, end=self.end, never=self.constraints.never
        )
        return found

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
        return state if words is None else self.decoder.restrict(state, words)  # type: ignore[attr-defined]

    def _choose(self, logits: Tensor, rows: Rows, words: Tensor | None) -> Choice:
        """Return what goes on after logits (R, V) of words, and file what is found. Writes into logits."""
        normaliser = log_sums(logits)
        self.constraints.apply(logits, rows, words)
        going, closing = self.strategy.advance(logits, normaliser, rows, words)
        self._close(closing, rows)
        return going

    def _close(self, closing: Choice, rows: Rows) -> None:
        """File the rows that end with a choice."""
        if len(closing.parents):
            self._file(
                rows.select(closing.parents).follow(closing._replace(parents=torch.arange(len(closing.parents))))
            )

    def _file(self, rows: Rows) -> None:
        """Turn rows that end here into hypotheses."""
        scores = rows.total / rows.length**self.options.length_penalty
        if self.observed_extend is not None:  # GNMT (Wu et al. 2016), section 7
            uncovered = rows.covered.clamp(min=UNSEEN, max=1.0).log().masked_fill(~rows.source, 0.0)
            scores = scores + self.options.coverage_penalty * uncovered.sum(dim=1)
        columns = (rows.sentence, rows.length, rows.total, scores, rows.tokens, rows.log_probabilities)
        for sentence, length, total, score, tokens, each in zip(*(column.tolist() for column in columns), strict=True):
            finished = tokens[length - 1] == self.end
            words = tokens[: length - 1] if finished else tokens[:length]
            self.found[sentence].append(Hypothesis(words, finished, total, score, each[:length]))


def choose_strategy(options: DecodingConfig, *, sentences: int, end: int) -> Strategy:
    """Return what options ask for: random draws, greedy choice or a beam."""
    if options.sample:
        return Sampler(options, end=end)
    if options.beam == 1:
        return Greedy(end=end)
    return Beam(options.beam, sentences=sentences, end=end)


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
