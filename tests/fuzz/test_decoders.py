"""For any bytes, every decoder returns or raises a declared error, and takes no more memory than its bound.

KRAFT_FUZZ_INPUTS is the number of inputs (10000), KRAFT_FUZZ_SEED their seed. `python -m tests.fuzz` prints the
progress of a longer run.
"""

from __future__ import annotations

import os

import pytest

from tests.fuzz.decoder import Decoder
from tests.fuzz.decoders import DECODERS
from tests.fuzz.soak import shares_accepted, soak

INPUT_COUNT = int(os.environ.get("KRAFT_FUZZ_INPUTS", "10000"))
SEED = int(os.environ.get("KRAFT_FUZZ_SEED", "1"))


def test_decoders_refuse_or_return_and_take_no_more_than_their_bounds() -> None:
    report = soak(seed=SEED, input_count=INPUT_COUNT)

    assert report.violation is None, str(report.violation)
    assert report.input_count == INPUT_COUNT
    # If a decoder refused all inputs, or none, they would not test the code behind its checks.
    assert not {name: share for name, share in shares_accepted(report) if share is None or not 0.02 < share < 0.98}


@pytest.mark.parametrize("decoder", [pytest.param(decoder, id=decoder.name) for decoder in DECODERS])
def test_decoder_reads_its_samples_when_they_are_not_mutated(decoder: Decoder) -> None:
    for sample in decoder.samples:
        try:
            sample.decode(sample.content)
        except decoder.refusals:
            assert sample.is_refused, sample.name
        else:
            assert not sample.is_refused, sample.name
