"""The group `raft-metrics` of Kafka: the 19 metrics of KIP-595 and KIP-996 (METRIC-1 to METRIC-3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from prometheus_client.core import Metric

from raft.core import RaftCore
from raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from raft.metrics.families import gauge, gauges
from raft.metrics.node_meter import NodeMeter
from raft.types import ZERO_UUID

STATES = (
    "leader",
    "candidate",
    "prospective",
    "prospective-voted",
    "follower",
    "observer",
    "unattached",
    "unattached-voted",
)
"""The values of current-state."""


def raft_families(core: RaftCore, meter: NodeMeter, idle_ratio: float, *, voters: int, now_ms: int) -> Iterator[Metric]:
    """Yield the group.

    Args:
        core: of the node.
        meter: of the node.
        idle_ratio: see poll-idle-ratio-avg.
        voters: how many there are.
        now_ms: the present time of the meter's clock.
    """
    yield from _state(core, voters)
    yield from _rates(meter, idle_ratio, now_ms)


def _state(core: RaftCore, voters: int) -> Iterator[Metric]:
    role, log = core.role, core.log
    state = current_state(core)
    yield _one(
        "current-state", f"The state of the node is the label's value, and the gauge is 1: {', '.join(STATES)}", state
    )
    yield _raft("current-leader", "Id of the leader; -1 if it is unknown", _or_minus_one(core.leader_id))
    yield _raft("current-epoch", "The epoch; 0 if there was none yet", core.epoch)
    voted = role.voted_key
    yield _raft(
        "current-vote", "Id that the node voted for in this epoch; -1 for none", -1 if voted is None else voted.node_id
    )
    yield _one(
        "current-vote-directory-id",
        "Directory id that the node voted for is the label's value, and the gauge is 1",
        str(ZERO_UUID if voted is None or voted.directory_id is None else voted.directory_id),
    )
    yield _raft(
        "high-watermark", "All records below are committed; -1 if it is unknown", _or_minus_one(core.high_watermark)
    )
    yield _raft("log-end-offset", "The offset of the next record", log.end_offset)
    yield _raft("log-end-epoch", "The epoch of the last record", log.last_epoch)
    yield _raft("number-unknown-voter-connections", "Voters whose address is unknown; 0, because all are configured", 0)
    yield _raft("number-of-voters", "Size of the set of voters", voters)
    is_leader = isinstance(role, Leader)
    yield _raft(
        "number-of-observers",
        "Observers that have fetched within five minutes; on the leader only",
        len(role.progress.observers) if isinstance(role, Leader) else None,
    )
    yield _raft(
        "uncommitted-voter-change",
        "1 while a change of the voters is not committed; on the leader only. Always 0: the voters do not change",
        0 if is_leader else None,
    )


def _rates(meter: NodeMeter, idle_ratio: float, now_ms: int) -> Iterator[Metric]:
    yield _raft(
        "commit-latency-avg",
        "Milliseconds from the append of records to their commit, on the leader, in the last minute",
        meter.commit_ms.average(now_ms),
    )
    yield _raft("commit-latency-max", "The maximum of commit-latency", meter.commit_ms.maximum(now_ms))
    latency = meter.elections.latency_ms
    yield _raft(
        "election-latency-avg",
        "Milliseconds from the beginning of an election of this node to a known leader, in the last minute",
        latency.average(now_ms),
    )
    yield _raft("election-latency-max", "The maximum of election-latency", latency.maximum(now_ms))
    yield _raft(
        "fetch-records-rate",
        "Records per second fetched from the leader, in the last minute",
        meter.fetched_records.rate_per_s(now_ms),
    )
    yield _raft(
        "append-records-rate",
        "Records per second appended as leader, in the last minute",
        meter.appended_records.rate_per_s(now_ms),
    )
    yield _raft(
        "poll-idle-ratio-avg",
        "Share of the last minute in which the thread of the event loop used no processor",
        idle_ratio,
    )


def current_state(core: RaftCore) -> str:
    """Return the name of the node's state (METRIC-2, METRIC-3)."""
    role = core.role
    match role:
        case Leader():
            return "leader"
        case Candidate():
            return "candidate"
        case Prospective():
            return "prospective" if role.voted_key is None else "prospective-voted"
        case Follower():
            return "follower" if core.is_voter else "observer"
        case Unattached():
            return "unattached" if role.voted_key is None else "unattached-voted"
        case Resigned():
            return "unattached"
        case _:
            assert_never(role)


def _raft(kafka_name: str, text: str, value: float | None) -> Metric:
    return gauge(_name(kafka_name), f"{text}. {_bean(kafka_name)}", value)


def _one(kafka_name: str, text: str, label: str) -> Metric:
    """Return a gauge for a text: the text is the value of a label."""
    return gauges(_name(kafka_name), f"{text}. {_bean(kafka_name)}", [kafka_name.replace("-", "_")], [([label], 1)])


def _name(kafka_name: str) -> str:
    return f"kafka_server_raft_metrics_{kafka_name.replace('-', '_')}"


def _bean(kafka_name: str) -> str:
    return f"kafka.server:type=raft-metrics,{kafka_name}"


def _or_minus_one(value: int | None) -> int:
    return -1 if value is None else value
