"""Voters and kraft.version in the header of a control batch."""

from __future__ import annotations

import pytest

from raft.errors import DecodeError
from raft.records.header import read_header
from raft.types import LoggedVoters, NodeId
from tests.records.voters import KRAFT_VERSION, VOTERS, control_batch, voters_value


@pytest.mark.parametrize(
    ("records", "logged"),
    [
        pytest.param([(2, b"\0\0\0\0\0\1\1\1\0")], None, id="neither"),
        pytest.param([(VOTERS, voters_value(1, 2))], LoggedVoters(voters=(NodeId(1), NodeId(2))), id="voters"),
        pytest.param([(KRAFT_VERSION, b"\0\0\0\1\0")], LoggedVoters(kraft_version=1), id="kraft.version"),
        pytest.param(
            [(2, b"\0\0\0\0\0\1\1\1\0"), (KRAFT_VERSION, b"\0\0\0\1\0"), (VOTERS, voters_value(3))],
            LoggedVoters(voters=(NodeId(3),), kraft_version=1),
            id="both, behind LEADER_CHANGE",
        ),
        pytest.param(
            [(VOTERS, b"\0\1" + voters_value(7)[2:])], LoggedVoters(voters=(NodeId(7),)), id="a newer version"
        ),
    ],
)
@pytest.mark.rule("CONTROL-8", "CONTROL-10")
def test_header_has_the_voters_of_its_control_records(
    records: list[tuple[int, bytes]], logged: LoggedVoters | None
) -> None:
    assert read_header(control_batch(*records)).logged_voters == logged


@pytest.mark.parametrize("size", range(1, len(voters_value(1))))
@pytest.mark.rule("CONTROL-9")
def test_batch_is_damaged_when_the_value_of_its_voters_ends_early(size: int) -> None:
    with pytest.raises(DecodeError):
        read_header(control_batch((VOTERS, voters_value(1)[:size])))


@pytest.mark.parametrize("control_type", [KRAFT_VERSION, VOTERS])
@pytest.mark.rule("CONTROL-8")
def test_batch_is_damaged_when_the_version_of_its_record_is_negative(control_type: int) -> None:
    with pytest.raises(DecodeError, match="control value of version -1"):
        read_header(control_batch((control_type, b"\xff\xff\0\1\0")))
