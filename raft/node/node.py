"""One node of the quorum: starts and stops its directory, its engine and its sockets."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections import Counter
from functools import partial
from types import TracebackType

from raft.config import NodeConfig
from raft.core import CoreConfig, RaftCore
from raft.core.config import HIGH_WATERMARK_LINGER_MS
from raft.core.events import Event, ShutdownRequested
from raft.core.log_view import LogView
from raft.core.voter_set import VoterSet
from raft.metrics.figures import Budget, Monitored, NodeFigures
from raft.node.admission_thread import AdmissionThread
from raft.node.connections import Connections
from raft.node.directory_of_node import open_when_there_is_room
from raft.node.disk_threads import DiskThreads
from raft.node.inbound import InboundConnection
from raft.node.large_frames import LargeFrames
from raft.node.leader_relay import LeaderRelay
from raft.node.listener import Listener
from raft.node.loop_scheduler import LoopScheduler
from raft.node.loop_turns import turns_of_event_loop
from raft.node.monitoring_of import monitoring_of
from raft.node.node_security import NodeSecurity
from raft.node.peer_network import PeerNetwork
from raft.node.request_budget import RequestBudget
from raft.node.service import Service
from raft.node.snapshot_process import SnapshotProcess
from raft.node.voter_addresses import VoterAddresses
from raft.records.load_scanner import load_scanner
from raft.runtime.admissions import Admissions
from raft.runtime.caller import Caller
from raft.runtime.client_quotas import ClientQuotas
from raft.runtime.disk import Disk
from raft.runtime.drop_cause import DropCause
from raft.runtime.engine import Engine
from raft.runtime.fault_log import FaultLog
from raft.runtime.meter import NO_METER
from raft.runtime.requests.context import Context
from raft.runtime.requests.describe_quorum import METADATA_TOPIC
from raft.runtime.requests.handle import handle
from raft.runtime.requests.versions import unsupported_api_versions
from raft.runtime.response_budget import ResponseBudget
from raft.runtime.scrubber import Scrubber
from raft.runtime.snapshot_keeper import Retention, SnapshotKeeper
from raft.runtime.space_keeper import SpaceKeeper
from raft.security.client_protection import ClientProtection
from raft.security.outcomes import Outcome
from raft.transactions import ProducerState
from raft.types import Endpoint, NodeId, ReplicaKey
from raft.wire.frames import MAX_RESPONSE_BYTES
from raft.wire.mapping.partition import TopicPartition
from raft.writers import WriterExpiry, WriterTable

_logger = logging.getLogger(__name__)

GRACE_MS = 5000
"""How long a leader that shuts down waits until another voter is leader (TIMER-6)."""

_FRAME_SLACK_BYTES = 1 << 20
_MAX_FRAME_BYTES = 100 << 20
"""Largest request that is accepted, the default of Kafka's brokers. It is far larger than a batch may be, so that a
client gets an error code for a batch that is too large, instead of a closed connection. The budgets bound the memory of
all requests together."""


class Node:
    """Runs one replica on the current event loop.

        async with Node(config) as node:
            await node.wait_until_ended()

    Raises (on entry):
        ConfigError: the port or the directory is in use, or the directory belongs to another node.
        StorageError: the log is damaged, or the disk reports an error.
    """

    def __init__(self, config: NodeConfig) -> None:
        self.config = config
        self._scheduler = LoopScheduler()
        self._disk_threads = DiskThreads(self._scheduler)
        self._listeners: list[Listener] = []
        self._protection = ClientProtection(config.security_to_voters, report=_logger.warning)
        self._relay = LeaderRelay(self._protection)
        # Each count is served from the start, so that a monitor sees the first failure as an increase.
        self._authentications = Counter({(name, outcome): 0 for name in config.security for outcome in Outcome})
        self._monitoring = monitoring_of(config, self._scheduler)
        self._voter_addresses = VoterAddresses(config.voters) if config.verify_voter_addresses else None
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Node:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Open the directory and the sockets, and start the engine. If that fails, all of them are closed again."""
        # Here and not at the first append, so that its log lines and errors are among those of the start.
        load_scanner()
        config = self.config
        expiry = WriterExpiry(producer_ms=config.producer_id_expiration_ms, writer_ms=config.writer_expiration_ms)
        producers = ProducerState(WriterTable(expiry=expiry))
        loop = asyncio.get_running_loop()
        self._directory = await open_when_there_is_room(config, producers, self._scheduler.now_ms)
        try:
            self._assemble(producers)
        except BaseException:
            self._directory.close()
            raise
        try:
            if self._monitoring is not None:
                self._monitoring.start(
                    Monitored(
                        core=self.core,
                        disk=self._context.disk,
                        figures=self._figures,
                        tls=self._security.metrics_context,
                    )
                )
                await loop.run_in_executor(None, self._monitoring.listen)
            await self._listen()
            self._engine.start()
            self._security.start()
            self._space_keeper.start()
            self._snapshot_keeper.start()
            self._scrubber.start()
        except BaseException:
            await self.stop()
            raise

    @property
    def cluster_id(self) -> str:
        """The cluster id."""
        return self._directory.cluster_id

    @property
    def core(self) -> RaftCore:
        """The core, to be read only."""
        return self._engine.core

    async def wait_until_ended(self) -> None:
        """Wait until the node has shut down.

        Raises:
            Exception: the error that stopped the node.
        """
        await asyncio.shield(self._ended)

    async def resign_and_leave(self, timeout_ms: int = GRACE_MS) -> None:
        """Resign if this node is leader, wait until another voter is leader, and end.

        Args:
            timeout_ms: how long to wait for the other leader, in milliseconds.
        """
        self._engine.submit(ShutdownRequested(timeout_ms=timeout_ms))
        await asyncio.shield(self._ended)

    def leave_now(self) -> None:
        """End without waiting until another voter is leader."""
        self._on_ended(None)

    async def stop(self) -> None:
        """Close sockets, disk and directory, in any state of the node."""
        self._security.stop()
        self._space_keeper.stop()
        self._snapshot_keeper.stop()
        self._scrubber.stop()
        if self._monitoring is not None:
            self._monitoring.stop()
            await asyncio.get_running_loop().run_in_executor(None, self._monitoring.close)
        for listener in self._listeners:
            await listener.close()
        await self._snapshot_process.close()
        await self._connections.close()
        self._relay.close()
        self._network.close()
        if self._voter_addresses is not None:
            await self._voter_addresses.close()
        self._context.admissions.close()
        await asyncio.get_running_loop().run_in_executor(None, self._close_disk)
        if self._ended.done():
            self._ended.exception()

    def _assemble(self, producers: ProducerState) -> None:
        """Make the parts of the node. None of them uses a socket or a thread yet."""
        config = self.config
        self._security = NodeSecurity(config, self._count, self._scheduler.now_ms)
        ours = TopicPartition(topic_name=config.topic_name, topic_id=config.topic_id)
        core = self._make_core(producers)
        self._network = PeerNetwork(
            config.node_id,
            ours,
            max_frame_bytes=MAX_RESPONSE_BYTES,
            # Controllers refuse other topics. A TestRaftServer has one, but announces the feature of controllers.
            refuses_controllers=config.node_id in config.voters and config.topic_name == METADATA_TOPIC,
            submit=self._submit,
            is_expected=core.expects_response,
            protection=self._protection,
            faults=FaultLog(_logger, self._scheduler.now_ms),
        )
        meter = NO_METER if self._monitoring is None else self._monitoring.meter
        disk = Disk(self._directory, self._disk_threads, meter=meter)
        self._engine = Engine(core, disk, self._network, self._scheduler, ended=self._on_ended, meter=meter)
        self._snapshot_process = SnapshotProcess(
            config.log_dir,
            self._directory.partition,
            self._scheduler,
            delete_retention_ms=config.delete_retention_ms,
        )
        self._space_keeper = SpaceKeeper(core, self._submit, disk, self._scheduler, config.reserve_bytes)
        self._snapshot_keeper = SnapshotKeeper(
            core,
            self._submit,
            disk,
            self._scheduler,
            Retention.of(config),
            self._space_keeper,
            self._snapshot_process if self._monitoring is None else self._monitoring.timed(self._snapshot_process),
            FaultLog(_logger, self._scheduler.now_ms),
        )
        self._scrubber = Scrubber(
            disk,
            self._scheduler,
            bytes_per_second=config.scrub_bytes_per_second,
            interval_ms=config.scrub_interval_ms,
        )
        self._context = Context(
            config=config,
            cluster_id=self._directory.cluster_id,
            ours=ours,
            engine=self._engine,
            disk=disk,
            scheduler=self._scheduler,
            admissions=Admissions(AdmissionThread()),
            responses=ResponseBudget(config.queued_max_request_bytes),
            relay=self._relay,
            refusals=FaultLog(_logger, self._scheduler.now_ms),
            rules=self._security.rules,
            authentications=self._authentications,
            voter_addresses=self._voter_addresses,
            draw=secrets.randbelow,
        )
        self._requests = RequestBudget(config.queued_max_request_bytes)
        quotas, clock_s = self._security.quotas, asyncio.get_running_loop().time
        self._quotas = None if quotas is None else ClientQuotas(quotas, clock_s)
        self._large_frames = LargeFrames(config.queued_max_request_bytes, clock_s)
        self._connections = Connections(
            max_connections=config.max_connections,
            max_connections_per_ip=config.max_connections_per_ip,
            max_idle_s=config.connections_max_idle_ms / 1000,
            large_frames=self._large_frames,
            responses=self._context.responses,
            now_ms=self._scheduler.now_ms,
        )

    async def _listen(self) -> None:
        """Open the sockets, the voters' listener last: no voter connects to a node that cannot start."""
        config = self.config
        default_bytes = max(_MAX_FRAME_BYTES, config.message_max_bytes + _FRAME_SLACK_BYTES)
        begin = partial(handle, self._context)
        service = Service(
            max_frame_bytes=config.socket_request_max_bytes or default_bytes,
            requests=self._requests,
            large_frames=self._large_frames,
            responses=self._context.responses,
            handle=begin if self._monitoring is None else self._monitoring.measured(begin),
            unsupported=unsupported_api_versions,
            registry=self._connections,
            errors=FaultLog(_logger, self._scheduler.now_ms, level=logging.ERROR),
            turns=turns_of_event_loop(self._engine.hold, self._engine.settle),
            quotas=self._quotas,
        )
        if self._voter_addresses is not None:
            await self._voter_addresses.open()
        for endpoint in (*(each.listener for each in config.client_listeners), config.listener):
            await self._open_listener(service, endpoint)
        self._connections.start()

    async def _open_listener(self, service: Service, endpoint: Endpoint) -> None:
        gate = self._security.gate(endpoint.name)
        listener = Listener(endpoint, lambda: InboundConnection(service, gate))
        self._listeners.append(listener)
        await listener.open()

    def _make_core(self, producers: ProducerState) -> RaftCore:
        config, directory = self.config, self._directory
        log = directory.log
        core_config = CoreConfig(
            replica=ReplicaKey(config.node_id, directory.directory_id),
            cluster_id=directory.cluster_id,
            voters=VoterSet.static(_with_listener(config)),
            bootstrap_servers=config.bootstrap_servers,
            election_timeout_ms=config.election_timeout_ms,
            fetch_timeout_ms=config.fetch_timeout_ms,
            fetch_timeout_spread_ms=config.fetch_timeout_ms // 10,
            high_watermark_linger_ms=HIGH_WATERMARK_LINGER_MS,
            election_backoff_max_ms=config.election_backoff_max_ms,
            request_timeout_ms=config.request_timeout_ms,
            retry_backoff_ms=config.retry_backoff_ms,
            fetch_max_bytes=config.fetch_max_bytes,
            fetch_snapshot_max_bytes=config.fetch_snapshot_max_bytes,
            transaction_max_timeout_ms=config.transaction_max_timeout_ms,
        )
        return RaftCore(
            core_config,
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
            draw=random.SystemRandom().randrange,
        )

    def _figures(self) -> NodeFigures:
        return NodeFigures(
            connections=self._connections.open_by_kind(),
            outbound_connections=len(self._network),
            dropped_connections={cause.value: self._connections.dropped[cause] for cause in DropCause},
            requests=Budget.of(self._requests),
            responses=Budget.of(self._context.responses),
            large_frames=Budget.of(self._large_frames),
            free_bytes=self._space_keeper.free_bytes,
            scrub=self._scrubber.progress,
            damage=self._engine.damage,
            authentications=self._authentications,
            unauthorized=self._context.unauthorized,
            certificates=self._security.expirations(),
            outdated=self._security.outdated(),
            throttled={} if self._quotas is None else dict(self._quotas.throttled),
        )

    def _count(self, caller: Caller, outcome: Outcome) -> None:
        self._authentications[caller.listener.name, outcome] += 1

    def _submit(self, event: Event) -> None:
        self._engine.submit(event)

    def _on_ended(self, error: Exception | None) -> None:
        if self._ended.done():
            return
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)

    def _close_disk(self) -> None:
        self._engine.stop()
        has_failed = self._ended.done() and self._ended.exception() is not None
        self._directory.close(None if has_failed else self.core.committed_producers())


def _with_listener(config: NodeConfig) -> dict[NodeId, Endpoint]:
    """Return the voters' endpoints with the name of the listener, by which Java finds the endpoint of a leader."""
    voters = {
        node_id: Endpoint(endpoint.host, endpoint.port, config.listener.name)
        for node_id, endpoint in config.voters.items()
    }
    if config.node_id in voters:
        voters[config.node_id] = config.advertised
    return voters
