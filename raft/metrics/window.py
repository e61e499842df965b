"""Averages, maxima and rates over the last half minute to minute, as Kafka's sensors compute them.

Source: Kafka SampledStat, Avg, Max, Rate, with the defaults of `metrics.num.samples` and `metrics.sample.window.ms`.
"""

from __future__ import annotations

from dataclasses import dataclass

SAMPLE_MS = 30_000
_SAMPLES = 2


@dataclass(slots=True)
class _Sample:
    begun_ms: int
    count: int = 0
    total: float = 0.0
    largest: float = float("-inf")


class Window:
    """The values of the last minute, in samples of 30 s each."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: list[_Sample] = []

    def record(self, value: float, now_ms: int) -> None:
        """Add a value.

        Args:
            value: the value.
            now_ms: the present time of a monotonic clock, in milliseconds.
        """
        samples = self._samples
        if not samples or now_ms - samples[-1].begun_ms >= SAMPLE_MS:
            samples.append(_Sample(now_ms))
            del samples[:-_SAMPLES]
        sample = samples[-1]
        sample.count += 1
        sample.total += value
        sample.largest = max(sample.largest, value)

    def average(self, now_ms: int) -> float:
        """Return the average; not a number if there is no value."""
        current = self._current(now_ms)
        count = sum(sample.count for sample in current)
        return sum(sample.total for sample in current) / count if count else float("nan")

    def maximum(self, now_ms: int) -> float:
        """Return the largest value; not a number if there is none."""
        return max((sample.largest for sample in self._current(now_ms)), default=float("nan"))

    def rate_per_s(self, now_ms: int) -> float:
        """Return the sum of the values for each second."""
        current = self._current(now_ms)
        if not current:
            return 0.0
        # As in Kafka, the first sample counts as a whole one, so that a first value is no high rate.
        elapsed_ms = now_ms - current[0].begun_ms
        if elapsed_ms < SAMPLE_MS:
            elapsed_ms += SAMPLE_MS
        return sum(sample.total for sample in current) * 1000 / elapsed_ms

    def _current(self, now_ms: int) -> list[_Sample]:
        return [sample for sample in self._samples if now_ms - sample.begun_ms < _SAMPLES * SAMPLE_MS]
