"""Compares what was fed into the source, the source, the sink, and what each reader has read of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TypeVar

from raft.types import Offset
from tests.fire.feeder import FedWrite
from tests.fire.logged_writes import LoggedWrite, LoggedWrites, Rows
from tests.workload.verdict import Verdict

Content = TypeVar("Content")

_SHOWN_BYTES = 20


def judge(fed: Sequence[FedWrite], source: LoggedWrites, sink: LoggedWrites, *, complaints: Iterable[str]) -> Verdict:
    """Compare the logs.

    Args:
        fed: the writes of the feeder.
        source: the source.
        sink: the copy.
        complaints: what is known to be wrong already.
    """
    in_source, in_sink = source.rows, sink.rows
    return Verdict(
        lost=[*_not_in_source(fed, in_source), *_lost(in_source, in_sink)],
        doubled=[*_doubled("source", in_source), *_doubled("sink", in_sink)],
        broken=[
            *complaints,
            *source.complaints,
            *sink.complaints,
            *_invented("source", in_source, {value for write in fed for value in write.values()}),
            *_invented("sink", in_sink, {value for _, value in in_source}),
            *_partial(fed, in_source),
            *_repeated_keys(sink.writes),
            *_out_of_order(sink.writes, in_source),
        ],
    )


def differences_of(
    readers: Mapping[str, Sequence[tuple[Offset, Content]]], log: Sequence[tuple[Offset, Content]]
) -> Iterator[str]:
    """Say which readers have read anything else than the log has.

    Args:
        readers: the rows of each reader, by its name.
        log: offset and content of each committed row.
    """
    for name, rows in readers.items():
        for ours, expected in zip_longest(rows, log):
            if ours != expected:
                yield f"{name} has read {_shown(ours)}, where the log has {_shown(expected)}"
                break


def _not_in_source(fed: Iterable[FedWrite], source: Rows) -> Iterator[str]:
    found = {value for _, value in source}
    for write in fed:
        if write.is_acknowledged:
            for value in write.values():
                if value not in found:
                    yield f"{_name(value)} was acknowledged and is not in the source"


def _lost(source: Rows, sink: Rows) -> Iterator[str]:
    found = {value for _, value in sink}
    for offset, value in source:
        if value not in found:
            yield f"{_name(value)} is at {offset} in the source and not in the sink"


def _doubled(name: str, rows: Rows) -> Iterator[str]:
    counts = Counter(value for _, value in rows)
    places: dict[bytes, list[Offset]] = {value: [] for value, count in counts.items() if count > 1}
    for offset, value in rows:
        if value in places:
            places[value].append(offset)
    for value, offsets in places.items():
        yield f"{_name(value)} is in the {name} {len(offsets)} times, at {offsets}"


def _invented(name: str, rows: Rows, written: set[bytes]) -> Iterator[str]:
    for offset, value in rows:
        if value not in written:
            yield f"{_name(value)} at {offset} in the {name} was written by no client"


def _partial(fed: Iterable[FedWrite], source: Rows) -> Iterator[str]:
    """A write whose outcome is unknown is in the source as a whole or not at all."""
    found = {value for _, value in source}
    for write in fed:
        count = sum(value in found for value in write.values())
        if not write.is_acknowledged and count not in (0, write.count):
            yield f"{count} of {write.count} rows of the write at row {write.first} are in the source"


def _repeated_keys(writes: Sequence[LoggedWrite]) -> Iterator[str]:
    for key, count in Counter(write.key for write in writes).items():
        if count > 1:
            yield f"micro-batch {key.version} of writer {key.producer_id} is in the sink {count} times"


def _out_of_order(writes: Sequence[LoggedWrite], source: Rows) -> Iterator[str]:
    """A micro-batch has rows behind those of the one before, and each of its tasks keeps the order of its rows."""
    places = {value: offset for offset, value in reversed(source)}
    last = Offset(-1)
    for write in writes:
        parts = [[places[value] for _, value in part if value in places] for part in write.parts]
        for part in parts:
            if part != sorted(part):
                yield f"rows of a task of micro-batch {write.key.version} are not in the order of the source"
        copied = [place for part in parts for place in part]
        if copied and min(copied) <= last:
            yield f"micro-batch {write.key.version} has the row of offset {min(copied)}, after that of offset {last}"
        last = max(copied, default=last)


def _name(value: bytes) -> str:
    return repr(value[:_SHOWN_BYTES])


def _shown(row: tuple[Offset, Content] | None) -> str:
    if row is None:
        return "nothing"
    offset, content = row
    return f"{_name(content) if isinstance(content, bytes) else content} at {offset}"
