"""A node whose directory is open: all its parts, and the order in which they begin and end."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections import Counter
from collections.abc import Callable
from functools import partial

from raft.config import NodeConfig
from raft.core import RaftCore
from raft.core.events import Event
from raft.metrics.figures import Budget, Monitored, NodeFigures
from raft.node.admission_thread import AdmissionThread
from raft.node.connections import Connections
from raft.node.disk_threads import DiskThreads
from raft.node.inbound import InboundConnection
from raft.node.large_frames import LargeFrames
from raft.node.leader_relay import LeaderRelay
from raft.node.listener import Listener
from raft.node.loop_scheduler import LoopScheduler
from raft.node.loop_turns import turns_of_event_loop
from raft.node.node_monitoring import monitoring_of
from raft.node.node_security import NodeSecurity
from raft.node.peer_network import PeerNetwork
from raft.node.request_budget import RequestBudget
from raft.node.service import Service
from raft.node.snapshot_process import SnapshotProcess
from raft.node.voter_addresses import VoterAddresses
from raft.runtime.caller import Caller
from raft.runtime.client_quotas import ClientQuotas
from raft.runtime.disk import Disk
from raft.runtime.drop_cause import DropCause
from raft.runtime.engine import Engine
from raft.runtime.fault_log import FaultLog
from raft.runtime.meter import NO_METER
from raft.runtime.replica import Replica, core_of
from raft.runtime.requests.describe_quorum import METADATA_TOPIC
from raft.runtime.requests.handle import handle
from raft.runtime.requests.versions import unsupported_api_versions
from raft.runtime.response_budget import ResponseBudget
from raft.security.client_protection import ClientProtection
from raft.security.outcomes import AuthenticationOutcome
from raft.storage.directory import ReplicaDirectory
from raft.transactions import ProducerState
from raft.types import Endpoint
from raft.wire.frames import MAX_RESPONSE_BYTES
from raft.wire.mapping.partition import TopicPartition

_logger = logging.getLogger(__name__)

_FRAME_SLACK_BYTES = 1 << 20
_MAX_FRAME_BYTES = 100 << 20
"""Largest request that is accepted, the default of Kafka's brokers. It is far larger than a batch may be, so that a
client gets an error code for a batch that is too large, instead of a closed connection. The budgets bound the memory of
all requests together."""


class RunningNode:
    """The parts of a node. None of them uses a socket or a thread before `start`.

    Args:
        config: of the node.
        directory: open and recovered. It is closed by `stop`.
        producers: the tables with which it was opened.
        scheduler: runs the engine.
        ended: called once when the node has to stop: with None after a shutdown, with the error otherwise.

    Attributes:
        directory: see there.
        replica: the engine, and what looks after the disk.
        connections: of other nodes and of clients.
        security: users, rules, certificates and quotas.
    """

    def __init__(
        self,
        config: NodeConfig,
        directory: ReplicaDirectory,
        producers: ProducerState,
        scheduler: LoopScheduler,
        ended: Callable[[Exception | None], None],
    ) -> None:
        self.directory = directory
        self._config = config
        self._listeners: list[Listener] = []
        self._authentications = _no_authentications(config)
        self._monitoring = monitoring_of(config, scheduler)
        self._voter_addresses = VoterAddresses(config.voters) if config.verify_voter_addresses else None
        self.security = NodeSecurity(config, self._count, scheduler.now_ms)
        protection = ClientProtection(config.security_to_voters, report=_logger.warning)
        self._relay = LeaderRelay(protection)
        ours = TopicPartition(topic_name=config.topic_name, topic_id=config.topic_id)
        core = core_of(config, directory, producers, draw=random.SystemRandom().randrange, kind=RaftCore)
        faults = FaultLog(_logger, scheduler.now_ms)
        self._network = _peer_network(config, ours, core, self._submit, protection, faults)
        meter = NO_METER if self._monitoring is None else self._monitoring.meter
        self._disk_threads = DiskThreads(scheduler)
        disk = Disk(directory, self._disk_threads, meter=meter)
        self._snapshot_process = maker = SnapshotProcess(
            config.log_dir, directory.partition, scheduler, delete_retention_ms=config.delete_retention_ms
        )
        self.replica = Replica(
            config,
            Engine(core, disk, self._network, scheduler, ended=ended, meter=meter),
            disk,
            scheduler,
            cluster_id=directory.cluster_id,
            ours=ours,
            worker=AdmissionThread(),
            maker=maker if self._monitoring is None else self._monitoring.timed(maker),
            relay=self._relay,
            rules=self.security.rules,
            authentications=self._authentications,
            voter_addresses=self._voter_addresses,
            draw=secrets.randbelow,
        )
        clock_s = asyncio.get_running_loop().time
        quotas = self.security.quotas
        self._quotas = None if quotas is None else ClientQuotas(quotas, clock_s)
        self._requests = RequestBudget(config.queued_max_request_bytes)
        self._large_frames = LargeFrames(config.queued_max_request_bytes, clock_s)
        self.connections = _connections(config, self._large_frames, self.replica.context.responses, scheduler.now_ms)
        self._service = self._service_of(scheduler)

    @property
    def core(self) -> RaftCore:
        """The core, to be read only."""
        return self.replica.engine.core

    async def start(self) -> None:
        """Open the sockets, and start the engine. If that fails, the caller stops the node."""
        if self._monitoring is not None:
            context = self.replica.context
            self._monitoring.start(
                Monitored(core=self.core, disk=context.disk, figures=self._figures, tls=self.security.metrics_context)
            )
            await asyncio.get_running_loop().run_in_executor(None, self._monitoring.listen)
        await self._listen()
        self.replica.start()
        self.security.start()

    async def stop(self, *, has_failed: Callable[[], bool]) -> None:
        """Close sockets, disk and directory, in any state of the node.

        Args:
            has_failed: returns whether the node has failed, in which case no more is written; called after the
                engine has stopped.
        """
        loop = asyncio.get_running_loop()
        self.security.stop()
        self.replica.stop()
        if self._monitoring is not None:
            self._monitoring.stop()
            await loop.run_in_executor(None, self._monitoring.close)
        for listener in self._listeners:
            await listener.close()
        await self._snapshot_process.close()
        await self.connections.close()
        self._relay.close()
        self._network.close()
        if self._voter_addresses is not None:
            await self._voter_addresses.close()
        self.replica.context.admissions.close()
        await loop.run_in_executor(None, self._close_disk, has_failed)

    async def _listen(self) -> None:
        """Open the sockets, the voters' listener last: no voter connects to a node that cannot start."""
        config = self._config
        if self._voter_addresses is not None:
            await self._voter_addresses.open()
        for endpoint in (*(each.listener for each in config.client_listeners), config.listener):
            await self._open_listener(endpoint)
        self.connections.start()

    async def _open_listener(self, endpoint: Endpoint) -> None:
        gate = self.security.gate(endpoint.name)
        listener = Listener(endpoint, lambda: InboundConnection(self._service, gate))
        self._listeners.append(listener)
        await listener.open()

    def _figures(self) -> NodeFigures:
        replica, context = self.replica, self.replica.context
        return NodeFigures(
            connections=self.connections.open_by_kind(),
            outbound_connections=len(self._network),
            dropped_connections={cause.value: self.connections.dropped[cause] for cause in DropCause},
            requests=Budget.of(self._requests),
            responses=Budget.of(context.responses),
            large_frames=Budget.of(self._large_frames),
            free_bytes=replica.space_keeper.free_bytes,
            scrub=replica.scrubber.progress,
            damage=replica.engine.damage,
            authentications=self._authentications,
            unauthorized=context.unauthorized,
            certificates=self.security.expirations(),
            outdated=self.security.outdated(),
            throttled={} if self._quotas is None else dict(self._quotas.throttled),
        )

    def _count(self, caller: Caller, outcome: AuthenticationOutcome) -> None:
        self._authentications[caller.listener.name, outcome] += 1

    def _service_of(self, scheduler: LoopScheduler) -> Service:
        """Return what the connections share."""
        context, engine = self.replica.context, self.replica.engine
        begin = partial(handle, context)
        return Service(
            max_frame_bytes=_max_frame_bytes(self._config),
            requests=self._requests,
            large_frames=self._large_frames,
            responses=context.responses,
            handle=begin if self._monitoring is None else self._monitoring.measured(begin),
            unsupported=unsupported_api_versions,
            registry=self.connections,
            errors=FaultLog(_logger, scheduler.now_ms, level=logging.ERROR),
            turns=turns_of_event_loop(engine.hold, engine.settle),
            quotas=self._quotas,
        )

    def _submit(self, event: Event) -> None:
        self.replica.engine.submit(event)

    def _close_disk(self, has_failed: Callable[[], bool]) -> None:
        self.replica.engine.stop()
        self.directory.close(None if has_failed() else self.core.committed_producers())


def _peer_network(
    config: NodeConfig,
    ours: TopicPartition,
    core: RaftCore,
    submit: Callable[[Event], None],
    protection: ClientProtection,
    faults: FaultLog,
) -> PeerNetwork:
    return PeerNetwork(
        config.node_id,
        ours,
        max_frame_bytes=MAX_RESPONSE_BYTES,
        # Controllers refuse other topics. A TestRaftServer has one, but announces the feature of controllers.
        refuses_controllers=config.node_id in config.voters and config.topic_name == METADATA_TOPIC,
        submit=submit,
        is_expected=core.expects_response,
        protection=protection,
        faults=faults,
    )


def _connections(
    config: NodeConfig, large_frames: LargeFrames, responses: ResponseBudget, now_ms: Callable[[], int]
) -> Connections:
    return Connections(
        max_connections=config.max_connections,
        max_connections_per_ip=config.max_connections_per_ip,
        max_idle_s=config.connections_max_idle_ms / 1000,
        large_frames=large_frames,
        responses=responses,
        now_ms=now_ms,
    )


def _no_authentications(config: NodeConfig) -> Counter[tuple[str, AuthenticationOutcome]]:
    """Return a count for each listener and outcome: a monitor sees the first failure as an increase."""
    return Counter({(name, outcome): 0 for name in config.security for outcome in AuthenticationOutcome})


def _max_frame_bytes(config: NodeConfig) -> int:
    largest = max(_MAX_FRAME_BYTES, config.message_max_bytes + _FRAME_SLACK_BYTES)
    return config.socket_request_max_bytes or largest
