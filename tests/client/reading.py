"""Fetches of a session from a quorum of three nodes, in which node 1 leads."""

from __future__ import annotations

from raft.client import calls
from raft.client.results import Fetched
from raft.client.session import Session
from raft.types import Endpoint, Offset
from raft.wire.messages import fetch
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.messages.nodes import LeaderIdAndEpoch
from tests.client.table import PLACES, Response, Table, node

LEADER, SECOND, THIRD = 1, 2, 3


def fetched(
    error: int = 0, *, records: bytes = b"r", epoch: int = 3, log_start_offset: int = 0, partitions: int = 1
) -> fetch.FetchResponse:
    partition = fetch.FetchResponsePartition(
        partition_index=0,
        error_code=error,
        high_watermark=9,
        last_stable_offset=9,
        log_start_offset=log_start_offset,
        current_leader=LeaderIdAndEpoch(leader_id=LEADER, leader_epoch=epoch),
        records=records,
    )
    return fetch.FetchResponse(responses=(fetch.FetchResponseTopic(partitions=(partition,) * partitions),))


def named(node_id: int) -> fetch.FetchResponse:
    """Records that say which node has sent them."""
    return fetched(records=b"of node %d" % node_id)


def quorum(second: Response = None, third: Response = None) -> Table:
    """Node 1 leads. The others respond to Fetch with these, or with their records."""
    return Table(
        {
            PLACES[LEADER]: node(named(LEADER)),
            PLACES[SECOND]: node(second or named(SECOND)),
            PLACES[THIRD]: node(third or named(THIRD)),
        }
    )


def reading(table: Table, client: Session, *, offset: int = 5, timeout_ms: int = 10_000) -> Fetched:
    operation = calls.fetch_committed(
        client, table.deadline(timeout_ms), Offset(offset), max_bytes=1 << 20, max_wait_ms=500
    )
    return table.run(operation)


def fetches(table: Table) -> list[Endpoint]:
    """The nodes that were asked for records, in order."""
    return [asked.endpoint for asked in table.asked if isinstance(asked.request, fetch.FetchRequest)]


def lookups(table: Table) -> list[Endpoint]:
    return [asked.endpoint for asked in table.asked if isinstance(asked.request, MetadataRequest)]


def places(*node_ids: int) -> list[Endpoint]:
    return [PLACES[node_id] for node_id in node_ids]
