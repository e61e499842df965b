"""The compiled scanner with any bytes: it reads no byte outside of its input.

Records are next to pages without access, so that reading one byte too many ends the process. A process that ended so
prints no seed, hence the seed is fixed.
"""

from __future__ import annotations

import ctypes
from random import Random
from typing import cast

import pytest

from raft.native.library import Outcome
from tests.columns.guarded_memory import GuardedMemory
from tests.oracles.scanner import Scanner
from tests.records.sections import NOW_MS, bent, random_records, section_of_records

SEED = 1
INPUT_COUNT = 10_000
COMPARED_EVERY = 10


@pytest.mark.rule("CLIENT-12")
def test_scanner_stays_inside_of_any_input(compiled: Scanner, python: Scanner) -> None:
    dice = Random(SEED)
    memory = GuardedMemory(2)
    sources = [section_of_records(random_records(dice, count)) for count in (1, 1, 2, 3, 9, 20, 20)]
    sound_count = 0

    for number in range(INPUT_COUNT):
        section = bent(dice, dice.choice(sources))
        placed = memory.place(bytes(section.data), at_end=dice.random() < 0.8)
        address = cast("bytes", ctypes.c_char_p(placed.ctypes.data))
        guarded = section._replace(data=address)
        timestamp_ms = NOW_MS + dice.randrange(-200, 110_000)

        checked = compiled.check_records(guarded, with_checksum=dice.random() < 0.7)
        found = compiled.find_first(guarded, timestamp_ms)

        sound_count += checked.outcome is Outcome.DONE
        if number % COMPARED_EVERY == 0:
            with_checksum = checked.content_checksum is not None
            assert checked == python.check_records(section, with_checksum=with_checksum)
            assert found == python.find_first(section, timestamp_ms)

    # The test proves nothing if all inputs, or none, are refused.
    assert 0.1 * INPUT_COUNT < sound_count < 0.9 * INPUT_COUNT
