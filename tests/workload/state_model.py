"""What clients wrote under keys, what readers of a compacted log have seen, and what its state has to be."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from raft.records.record import Record
from raft.types import Offset

State = dict[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Written:
    """One record that a client has written. Each value is written once, and each key by one client.

    Fields:
        key: its key.
        value: its value; None deletes the key.
        offset: where it is; None if its append was not acknowledged.
    """

    key: bytes
    value: bytes | None
    offset: Offset | None


@dataclass(frozen=True, slots=True)
class WholeRead:
    """A read of the log from its beginning to its end at the time when the read began.

    Fields:
        reader: its name.
        records: what it saw, in order.
        is_last: whether no client wrote any more.
    """

    reader: str
    records: Sequence[Record]
    is_last: bool


def state_of(records: Sequence[Record]) -> State:
    """Return the newest value of each key."""
    state: State = {}
    for record in records:
        assert record.key is not None, f"a record without a key at offset {record.offset}"
        if record.value is None:
            state.pop(record.key, None)
        else:
            state[record.key] = record.value
    return state


class StateModel:
    """Gets what clients of a run write and read; several threads use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._acknowledged: dict[Offset, Written] = {}
        self._last: dict[bytes, Written] = {}
        self._unknown: defaultdict[bytes, list[bytes | None]] = defaultdict(list)
        self._reads: list[WholeRead] = []

    @property
    def acknowledged_count(self) -> int:
        """How many records were acknowledged."""
        return len(self._acknowledged)

    @property
    def unknown_count(self) -> int:
        """How many records were not acknowledged."""
        return sum(map(len, self._unknown.values()))

    @property
    def reads(self) -> Sequence[WholeRead]:
        """The reads, in the order of their ends."""
        return self._reads

    def wrote(self, written: Written) -> None:
        """Note a record; those of one key in the order in which they were written."""
        with self._lock:
            if written.offset is None:
                self._unknown[written.key].append(written.value)
            else:
                self._acknowledged[written.offset] = written
                self._last[written.key] = written

    def read(self, read: WholeRead) -> None:
        """Note a read."""
        with self._lock:
            self._reads.append(read)

    def complaints(self, states: Mapping[str, State]) -> Iterator[str]:
        """Say what is wrong.

        Args:
            states: the state at the end, as several see it, by their names.
        """
        for name, state in states.items():
            yield from (f"{name}: {problem}" for problem in self._problems_of_state(state))
        (first_name, first), *others = states.items()
        yield from (f"{first_name} and {name} see other states" for name, state in others if state != first)
        for read in self._reads:
            yield from (f"a read of {read.reader}: {problem}" for problem in self._problems_of_read(read, first))

    def _problems_of_state(self, state: State) -> Iterator[str]:
        """A key has the value that was acknowledged last, or one whose outcome is unknown."""
        for key in {*state, *self._last}:
            last = self._last.get(key)
            possible = [last.value if last else None, *self._unknown.get(key, [])]
            if state.get(key) not in possible:
                yield f"{key!r} is {state.get(key)!r}; expected one of {possible[:5]}"

    def _problems_of_read(self, read: WholeRead, final: State) -> Iterator[str]:
        before = -1
        for record in read.records:
            if record.offset <= before:
                yield f"offset {record.offset} follows {before}"
            before = record.offset
            written = self._acknowledged.get(record.offset)
            assert record.key is not None, "the policy refuses records without a key"
            if written is not None and (written.key, written.value) != (record.key, record.value):
                yield f"{record.key!r}={record.value!r} at {record.offset}; expected {written}"
            if written is None and record.value not in self._unknown.get(record.key, []):
                yield f"{record.key!r}={record.value!r} at {record.offset}, which was not written there"
        if read.is_last and state_of(read.records) != final:
            yield "its state is another one"
