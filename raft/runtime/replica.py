"""One replica between its sockets and its disk: the core, the engine, and what looks after the disk.

A node and the simulator make it in the same way, with other clocks, networks, threads and random numbers.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from raft.config import NodeConfig
from raft.core import CoreConfig, RaftCore
from raft.core.config import HIGH_WATERMARK_LINGER_MS, Draw
from raft.core.log_view import LogView
from raft.core.voter_set import VoterSet
from raft.runtime.admissions import Admissions, Worker
from raft.runtime.disk import Disk
from raft.runtime.engine import Engine
from raft.runtime.fault_log import FaultLog
from raft.runtime.requests.context import Context, VoterAddresses
from raft.runtime.requests.relay import Relay
from raft.runtime.response_budget import ResponseBudget
from raft.runtime.scheduler import Scheduler
from raft.runtime.scrubber import Scrubber
from raft.runtime.snapshot_keeper import Retention, SnapshotKeeper, SnapshotMaker
from raft.runtime.space_keeper import SpaceKeeper
from raft.security.outcomes import AuthenticationOutcome
from raft.security.rules import Rules
from raft.storage.directory import ReplicaDirectory
from raft.transactions import ProducerState
from raft.types import Endpoint, NodeId, ReplicaKey
from raft.wire.mapping.partition import TopicPartition
from raft.writers import WriterExpiry, WriterTable

AnyCore = TypeVar("AnyCore", bound=RaftCore)

_logger = logging.getLogger(__name__)


def empty_producer_state(config: NodeConfig) -> ProducerState:
    """Return the tables of writers and transactions with which a directory is opened."""
    expiry = WriterExpiry(producer_ms=config.producer_id_expiration_ms, writer_ms=config.writer_expiration_ms)
    return ProducerState(WriterTable(expiry=expiry))


def core_of(
    config: NodeConfig,
    directory: ReplicaDirectory,
    producers: ProducerState,
    *,
    draw: Draw,
    kind: type[AnyCore],
    fetch_timeout_spread_ms: int | None = None,
    high_watermark_linger_ms: int = HIGH_WATERMARK_LINGER_MS,
) -> AnyCore:
    """Return the core of a directory that is open and recovered; it is not started.

    Args:
        config: of the node.
        directory: of the node.
        producers: the tables with which the directory was opened.
        draw: draws the random parts of timeouts.
        kind: the class of the core.
        fetch_timeout_spread_ms: see `CoreConfig`; None for a tenth of the fetch timeout.
        high_watermark_linger_ms: see `CoreConfig`.
    """
    log = directory.log
    return kind(
        CoreConfig(
            replica=ReplicaKey(config.node_id, directory.directory_id),
            cluster_id=directory.cluster_id,
            voters=VoterSet.static(_with_listener(config)),
            bootstrap_servers=config.bootstrap_servers,
            election_timeout_ms=config.election_timeout_ms,
            fetch_timeout_ms=config.fetch_timeout_ms,
            fetch_timeout_spread_ms=config.fetch_timeout_ms // 10
            if fetch_timeout_spread_ms is None
            else fetch_timeout_spread_ms,
            high_watermark_linger_ms=high_watermark_linger_ms,
            election_backoff_max_ms=config.election_backoff_max_ms,
            request_timeout_ms=config.request_timeout_ms,
            retry_backoff_ms=config.retry_backoff_ms,
            fetch_max_bytes=config.fetch_max_bytes,
            fetch_snapshot_max_bytes=config.fetch_snapshot_max_bytes,
            transaction_max_timeout_ms=config.transaction_max_timeout_ms,
        ),
        stored=directory.election_state if directory.has_election_state else None,
        log=LogView(
            start=log.start,
            shows_snapshot=log.compacted is not None,
            end_offset=log.end_offset,
            epochs=log.epochs,
        ),
        producers=producers,
        known_committed=directory.committed_offset,
        newest_snapshot=directory.snapshots.newest(),
        draw=draw,
    )


def _with_listener(config: NodeConfig) -> dict[NodeId, Endpoint]:
    """Return the voters' endpoints with the name of the listener, by which Java finds the endpoint of a leader."""
    voters = {
        node_id: Endpoint(endpoint.host, endpoint.port, config.listener.name)
        for node_id, endpoint in config.voters.items()
    }
    if config.node_id in voters:
        voters[config.node_id] = config.advertised
    return voters


class Replica:
    """The parts of one replica. None of them uses a socket or a thread of its own.

    Args:
        config: of the node.
        engine: of its core.
        disk: of its directory.
        scheduler: runs everything.
        cluster_id: of the directory.
        ours: the partition that the node hosts.
        worker: checks large appends.
        maker: makes snapshots.
        relay: sends DescribeQuorum requests to the leader.
        rules: see `Context`.
        authentications: see `Context`.
        voter_addresses: see `Context`.
        draw: see `Context`.

    Attributes:
        engine: see there.
        space_keeper: measures the disk.
        snapshot_keeper: orders snapshots, and removes what they replace.
        scrubber: looks for damage.
        context: the node, as its request handlers use it.
    """

    def __init__(
        self,
        config: NodeConfig,
        engine: Engine,
        disk: Disk,
        scheduler: Scheduler,
        *,
        cluster_id: str,
        ours: TopicPartition,
        worker: Worker,
        maker: SnapshotMaker,
        relay: Relay,
        rules: Callable[[], Rules] | None,
        authentications: Counter[tuple[str, AuthenticationOutcome]],
        voter_addresses: VoterAddresses | None,
        draw: Draw,
    ) -> None:
        self.engine = engine
        self._scheduler = scheduler
        self.space_keeper = SpaceKeeper(engine.core, engine.submit, disk, scheduler, config.reserve_bytes)
        self.snapshot_keeper = SnapshotKeeper(
            engine.core,
            engine.submit,
            disk,
            scheduler,
            Retention.of(config),
            self.space_keeper,
            maker,
            FaultLog(_logger, scheduler.now_ms),
        )
        self.scrubber = Scrubber(
            disk,
            scheduler,
            bytes_per_second=config.scrub_bytes_per_second,
            interval_ms=config.scrub_interval_ms,
        )
        self.context = Context(
            config=config,
            cluster_id=cluster_id,
            ours=ours,
            engine=engine,
            disk=disk,
            scheduler=scheduler,
            admissions=Admissions(worker),
            responses=ResponseBudget(config.queued_max_request_bytes),
            relay=relay,
            refusals=FaultLog(_logger, scheduler.now_ms),
            rules=rules,
            authentications=authentications,
            voter_addresses=voter_addresses,
            draw=draw,
        )

    def start(self) -> None:
        """Start the engine, and soon what looks after the disk."""
        self.engine.start()
        for keeper in (self.space_keeper, self.snapshot_keeper, self.scrubber):
            self._scheduler.soon(keeper.start)

    def stop(self) -> None:
        """Look after the disk no more. The owner stops the engine, after it has closed the sockets."""
        for keeper in (self.space_keeper, self.snapshot_keeper, self.scrubber):
            keeper.stop()
