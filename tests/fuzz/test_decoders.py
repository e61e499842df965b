"""Whatever the bytes: every decoder refuses as it says it does or returns, and takes no more memory than its bound.

Ten thousand inputs here, or as many as KRAFT_FUZZ_INPUTS says, of the seed KRAFT_FUZZ_SEED. `python -m tests.fuzz`
tries as many as it is told, and tells how far it is.
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

    assert report.breach is None, str(report.breach)
    assert report.input_count == INPUT_COUNT
    # Were everything refused at the door, or nothing, there would be no test of what is behind it.
    assert not {name: share for name, share in shares_accepted(report) if share is None or not 0.02 < share < 0.98}


@pytest.mark.parametrize("decoder", [pytest.param(decoder, id=decoder.name) for decoder in DECODERS])
def test_decoder_reads_its_samples_as_long_as_they_are_not_bent(decoder: Decoder) -> None:
    for sample in decoder.samples:
        try:
            sample.decode(sample.content)
        except decoder.refusals:
            assert sample.is_refused, sample.name
        else:
            assert not sample.is_refused, sample.name
