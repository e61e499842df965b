"""One input for a decoder, and its verdict. The seed and the number of an input determine it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random

from tests.fuzz.decoder import Decoder, Sample
from tests.fuzz.memory import PeakMemory
from tests.fuzz.mutators import mutated


class Verdict(Enum):
    """The result of an input without a violation."""

    ACCEPTED = "accepted"
    REFUSED = "refused"


class ViolationError(AssertionError):
    """A decoder violated its contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """An input for a decoder: a mutated sample."""

    decoder: Decoder
    sample: Sample
    content: bytes

    def run(self) -> Verdict:
        """Decode the input; once more if it took more memory than its bound.

        msgpack interns the keys of maps. When Python's table of interned strings is full, Python makes a larger one, of
        megabytes, at whatever input that happens. So the second decoding counts for Python's memory.

        Raises:
            ViolationError: the decoder raised an undeclared error, or took more memory than its bound.
        """
        bound_bytes = self.decoder.bound.of(len(self.content))
        with PeakMemory() as peak:
            verdict = self._decode()
        size_bytes = peak.python_bytes + peak.arrow_bytes
        if size_bytes > bound_bytes:
            with PeakMemory() as again:
                self._decode()
            # Arrow's maximum shows the first decoding only.
            size_bytes = again.python_bytes + peak.arrow_bytes
        if size_bytes > bound_bytes:
            raise ViolationError(
                f"{self}: {size_bytes} bytes of memory for {len(self.content)} bytes of input, "
                f"the bound is {bound_bytes}"
            )
        return verdict

    def _decode(self) -> Verdict:
        try:
            self.sample.decode(self.content)
        except self.decoder.refusals:
            return Verdict.REFUSED
        except KeyboardInterrupt:
            raise
        # A panic in a library written in Rust is no child of Exception.
        except BaseException as error:
            raise ViolationError(f"{self}: {type(error).__name__}: {error}") from error
        return Verdict.ACCEPTED

    def __str__(self) -> str:
        return f"{self.decoder.name}, {self.sample.name}"


def trial(decoders: Sequence[Decoder], seed: int, number: int) -> Trial:
    """Return input `number` of a seed, always the same."""
    random = Random(f"{seed} {number}")
    decoder = random.choices(decoders, [decoder.share for decoder in decoders])[0]
    sample = random.choice(decoder.samples)
    others = [random.choice(decoder.samples).content]
    content = decoder.repair(random, mutated(random, sample.content, others, decoder.words))
    return Trial(decoder=decoder, sample=sample, content=content)


def warm_up(decoders: Sequence[Decoder]) -> None:
    """Decode every sample once, so that caches made at the first use do not count for an input."""
    for decoder in decoders:
        for sample in decoder.samples:
            try:
                sample.decode(sample.content)
            except decoder.refusals:
                continue
