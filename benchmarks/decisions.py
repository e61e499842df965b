"""The cost of the alternatives in docs/decisions: `python -m benchmarks.decisions [--quick]`.

Four ways to create one partition of a Fetch response (decision 5), and the compiled scanner beside the one in Python
(decision 6). They take turns, and medians are shown.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.codec import medians_us
from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.records.scanner import check_records
from raft.records.section import section_of
from raft.wire.messages.fetch import FetchResponsePartition
from tests.oracles.scanner import PythonScanner

RECORD_COUNT = 9000


def ways_to_make_a_message() -> dict[str, Callable[[], Any]]:
    """Return functions that create equal messages field by field, as a generated decoder does."""
    made = FetchResponsePartition(partition_index=0, error_code=0, high_watermark=990, records=b"")
    values = {field.name: getattr(made, field.name) for field in dataclasses.fields(made)}
    slots = {name: getattr(FetchResponsePartition, name).__set__ for name in values}
    bodies = {
        "draft, then __class__": ["message = Draft()"]
        + [f"message.{name} = value_{name}" for name in values]
        + ["message.__class__ = Message"],
        "__new__, then slots": ["message = new(Message)"] + [f"slot_{name}(message, value_{name})" for name in values],
        "__new__, then object.__setattr__": ["message = new(Message)"]
        + [f"put(message, {name!r}, value_{name})" for name in values],
        "__init__": [f"message = Message({', '.join(f'{name}=value_{name}' for name in values)})"],
    }
    namespace: dict[str, Any] = {
        "Message": FetchResponsePartition,
        "Draft": FetchResponsePartition.__struct__.draft_class,
        "new": object.__new__,
        "put": object.__setattr__,
        **{f"value_{name}": value for name, value in values.items()},
        **{f"slot_{name}": put for name, put in slots.items()},
    }
    return {title: _function(lines, namespace) for title, lines in bodies.items()}


def _function(lines: list[str], namespace: dict[str, Any]) -> Callable[[], Any]:
    text = "\n    ".join(["def make():", *lines, "return message"])
    exec(text, namespace)
    return namespace["make"]  # type: ignore[no-any-return]  # the text above defines it


def ways_to_check_records() -> dict[str, Callable[[], Any]]:
    """Return functions that check the records of one batch."""
    batch = build_batch([Record(key=b"k" * 10, value=b"v" * 90, timestamp_ms=5)] * RECORD_COUNT)
    section = section_of(batch, read_header(batch))
    return {
        "compiled scanner": partial(check_records, section, with_checksum=False),
        "python scanner": partial(PythonScanner().check_records, section, with_checksum=False),
    }


def show(heading: str, ways: dict[str, Callable[[], Any]], *, shares: int, rounds: int, round_ms: float) -> None:
    """Print how long each way takes, divided by this number."""
    print(heading)
    medians = medians_us(list(ways.values()), rounds=rounds, round_ms=round_ms)
    for title, median_us in zip(ways, medians, strict=True):
        print(f"  {title:34}{median_us * 1000 / shares:10,.0f}")


def main(*, rounds: int, round_ms: float) -> None:
    show("nanoseconds a message", ways_to_make_a_message(), shares=1, rounds=rounds, round_ms=round_ms)
    show("nanoseconds a record", ways_to_check_records(), shares=RECORD_COUNT, rounds=rounds, round_ms=round_ms)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a quick check")
    quick = parser.parse_args().quick
    main(rounds=3 if quick else 15, round_ms=5 if quick else 50)
