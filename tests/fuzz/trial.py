"""One input, and the judgement of what its decoder made of it. The seed and the number of an input say all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random

from tests.fuzz.decoder import Decoder, Sample
from tests.fuzz.memory import PeakMemory
from tests.fuzz.mutators import bent


class Verdict(Enum):
    """How an input ended that did no harm."""

    ACCEPTED = "accepted"
    REFUSED = "refused"


class BreachError(AssertionError):
    """A decoder did what it must not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """An input for a decoder: a sample of it, bent."""

    decoder: Decoder
    sample: Sample
    content: bytes

    def judge(self) -> Verdict:
        """Decode the input.

        Raises:
            BreachError: another error than the declared ones, or more memory than the bound.
        """
        with PeakMemory() as peak:
            verdict = self._decode()
        bound_bytes = self.decoder.bound.of(len(self.content))
        if peak.size_bytes > bound_bytes:
            raise BreachError(
                f"{self}: {peak.size_bytes} bytes of memory for {len(self.content)} bytes of input, "
                f"{bound_bytes} are allowed"
            )
        return verdict

    def _decode(self) -> Verdict:
        try:
            self.sample.decode(self.content)
        except self.decoder.refusals:
            return Verdict.REFUSED
        except KeyboardInterrupt:
            raise
        # Not only Exception: a panic in a library written in Rust is none.
        except BaseException as error:
            raise BreachError(f"{self}: {type(error).__name__}: {error}") from error
        return Verdict.ACCEPTED

    def __str__(self) -> str:
        return f"{self.decoder.name}, {self.sample.name}"


def trial(decoders: Sequence[Decoder], seed: int, number: int) -> Trial:
    """Return input `number` of the seed; the same whenever it is asked for."""
    dice = Random(f"{seed} {number}")
    decoder = dice.choices(decoders, [decoder.share for decoder in decoders])[0]
    sample = dice.choice(decoder.samples)
    others = [dice.choice(decoder.samples).content]
    content = decoder.mend(dice, bent(dice, sample.content, others, decoder.words))
    return Trial(decoder=decoder, sample=sample, content=content)


def warm_up(decoders: Sequence[Decoder]) -> None:
    """Decode every sample once, so that what is made at the first use is not counted as an input's."""
    for decoder in decoders:
        for sample in decoder.samples:
            try:
                sample.decode(sample.content)
            except decoder.refusals:
                continue
