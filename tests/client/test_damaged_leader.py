"""A client whose leader cannot read records from its disk gets them from another node (rule READ-9)."""

from __future__ import annotations

import pytest

from raft.client.settings import ReadFrom
from raft.errors import ErrorCode, QuorumUnavailableError
from tests.client.reading import LEADER, fetched, fetches, lookups, named, places, quorum, reading
from tests.client.table import PLACES, Response, node, session

DAMAGED = fetched(ErrorCode.STORAGE_ERROR, records=b"")


@pytest.mark.parametrize(
    ("second", "third", "asked"),
    [
        pytest.param(None, None, (1, 2), id="the next one has them"),
        pytest.param(DAMAGED, None, (1, 2, 3), id="the next one is damaged too"),
        pytest.param(fetched(records=b""), None, (1, 2, 3), id="the next one lags"),
        pytest.param(fetched(ErrorCode.OFFSET_NOT_AVAILABLE), None, (1, 2, 3), id="the next one is behind the offset"),
        pytest.param(
            fetched(ErrorCode.OFFSET_OUT_OF_RANGE), None, (1, 2, 3), id="the log of the next one starts later"
        ),
        pytest.param("Connection refused", None, (1, 2, 3), id="the next one is down"),
    ],
)
@pytest.mark.rule("READ-9")
def test_records_come_from_another_node_when_those_of_the_leader_are_damaged(
    second: Response, third: Response, asked: tuple[int, ...]
) -> None:
    table, client = quorum(second=second, third=third), session(1, read_from=ReadFrom.LEADER)
    table.nodes[PLACES[LEADER]] = node(DAMAGED)
    reading_before = len(table.pauses_ms)

    found = reading(table, client)

    assert (found.records, found.reader) == (b"of node %d" % asked[-1], PLACES[asked[-1]])
    assert fetches(table) == places(*asked)
    assert len(table.pauses_ms) == reading_before, "no node is asked twice"


@pytest.mark.rule("READ-9")
def test_leader_is_looked_up_again_when_no_other_node_has_the_records() -> None:
    table, client = quorum(second=DAMAGED, third=DAMAGED), session(1, read_from=ReadFrom.LEADER)
    table.nodes[PLACES[LEADER]] = node(DAMAGED, named(LEADER))

    found = reading(table, client)

    assert found.records == b"of node 1"
    assert fetches(table) == places(1, 2, 3, 1)
    assert len(lookups(table)) > 1
    assert table.pauses_ms == [client.settings.retry_backoff_ms]


@pytest.mark.rule("READ-9")
def test_call_ends_when_no_node_has_the_records_in_time() -> None:
    table, client = quorum(second=DAMAGED, third=DAMAGED), session(1, read_from=ReadFrom.LEADER)
    table.nodes[PLACES[LEADER]] = node(DAMAGED)
    began_ms = table.now_ms

    with pytest.raises(QuorumUnavailableError, match="records from offset 5 on are damaged"):
        reading(table, client, timeout_ms=2_000)

    assert table.now_ms - began_ms < 2_000 + client.settings.retry_backoff_ms


@pytest.mark.rule("READ-9", "READ-5")
def test_damaged_reader_is_not_asked_for_some_time() -> None:
    table, client = quorum(second=DAMAGED, third=DAMAGED), session(1, read_from=ReadFrom.ANY)

    found = [reading(table, client).records for _ in range(2)]

    assert found == [b"of node 1"] * 2
    assert fetches(table) == places(2, 3, 1, 1)
