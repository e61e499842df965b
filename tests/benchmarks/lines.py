"""Lines of the table, as tests make them."""

from __future__ import annotations

from benchmarks.contest import BASELINE, OURS, Better, Comparison, Samples
from benchmarks.ratios import Line, line_of

PEER = "peer"
STEP, MEASURE = "step", "rows/s"


def comparison(
    *, better: Better = Better.HIGHER, at_least: float | None = None, aim: float | None = None, peer: str = PEER
) -> Comparison:
    """Return a comparison of the only measure."""
    return Comparison(title="work", step=STEP, measure=MEASURE, peer=peer, better=better, at_least=at_least, aim=aim)


def samples(ours: list[float], peer: list[float], baseline: list[float] | None = None) -> dict[str, Samples]:
    """Return the samples of the only step."""
    measured = {OURS: {MEASURE: ours}, PEER: {MEASURE: peer}}
    return {STEP: measured | ({BASELINE: {MEASURE: baseline}} if baseline else {})}


def line(of: Comparison, measured: dict[str, Samples]) -> Line:
    """Return the line of a peer that was measured."""
    made = line_of(of, measured)
    assert made is not None, "the peer was measured"
    return made
