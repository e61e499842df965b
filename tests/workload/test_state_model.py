"""The model of a compacted log finds what is wrong with a state, and with a read."""

from __future__ import annotations

import pytest

from raft.records.record import Record
from raft.types import Offset
from tests.workload.state_model import State, StateModel, WholeRead, Written, state_of

STATE = {b"a": b"a3", b"c": b"c5"}


def model() -> StateModel:
    """Key a was written three times, the last time perhaps; b was deleted; c was written once."""
    model = StateModel()
    for key, value, offset in (
        (b"a", b"a0", 0),
        (b"b", b"b1", 1),
        (b"a", b"a3", 3),
        (b"b", None, 4),
        (b"c", b"c5", 5),
        (b"a", b"a?", None),
    ):
        model.wrote(Written(key=key, value=value, offset=None if offset is None else Offset(offset)))
    return model


def record(offset: int, key: bytes, value: bytes | None) -> Record:
    return Record(key=key, value=value, offset=Offset(offset))


WHOLE = [record(3, b"a", b"a3"), record(4, b"b", None), record(5, b"c", b"c5")]


def test_model_counts_what_was_written() -> None:
    assert (model().acknowledged_count, model().unknown_count) == (5, 1)


@pytest.mark.parametrize(
    "state", [pytest.param(STATE, id="acknowledged"), pytest.param(STATE | {b"a": b"a?"}, id="of unknown outcome")]
)
def test_state_with_the_last_values_is_right(state: State) -> None:
    assert list(model().complaints({"node 1": state, "node 2": dict(state)})) == []


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        pytest.param(STATE | {b"a": b"a0"}, "node 1: b'a' is b'a0'; expected one of [b'a3', b'a?']", id="an older one"),
        pytest.param(STATE | {b"b": b"b1"}, "node 1: b'b' is b'b1'; expected one of [None]", id="a deleted one"),
        pytest.param({b"a": b"a3"}, "node 1: b'c' is None; expected one of [b'c5']", id="a lost one"),
        pytest.param(STATE | {b"d": b"d"}, "node 1: b'd' is b'd'; expected one of [None]", id="one never written"),
    ],
)
def test_state_with_another_value_is_wrong(state: State, sentence: str) -> None:
    assert list(model().complaints({"node 1": state})) == [sentence]


def test_nodes_with_different_states_are_wrong() -> None:
    found = model().complaints({"node 1": STATE, "node 2": STATE | {b"a": b"a?"}})

    assert list(found) == ["node 1 and node 2 see other states"]


@pytest.mark.parametrize("is_last", [True, False])
def test_read_of_the_state_is_right(is_last: bool) -> None:
    read = model()
    older = [] if is_last else [record(0, b"a", b"a0")]

    read.read(WholeRead("r", [*older, *WHOLE], is_last=is_last))

    assert list(read.complaints({"node 1": STATE})) == []


@pytest.mark.parametrize(
    ("records", "is_last", "sentence"),
    [
        pytest.param([*WHOLE, WHOLE[-1]], False, "offset 5 follows 5", id="doubled"),
        pytest.param(WHOLE[::-1][:2], False, "offset 4 follows 5", id="in another order"),
        pytest.param(
            [record(3, b"a", b"a0")],
            False,
            "b'a'=b'a0' at 3; expected Written(key=b'a', value=b'a3', offset=3)",
            id="old",
        ),
        pytest.param([record(2, b"a", b"x")], False, "b'a'=b'x' at 2, which was not written there", id="never written"),
        pytest.param(WHOLE[:-1], True, "its state is another one", id="incomplete at the end"),
    ],
)
def test_read_of_something_else_is_wrong(records: list[Record], is_last: bool, sentence: str) -> None:
    read = model()

    read.read(WholeRead("r", records, is_last=is_last))

    assert list(read.complaints({"node 1": STATE})) == [f"a read of r: {sentence}"]


def test_state_has_the_newest_value_of_each_key() -> None:
    assert state_of([record(0, b"a", b"a0"), record(1, b"b", b"b1"), *WHOLE]) == STATE
