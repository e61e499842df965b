"""Five servers of NATS JetStream with its defaults, and a stream on all five of them.

`scripts/ensure_nats.sh` makes the server of the version that Jepsen has tested.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import nats
from nats.aio.client import Client
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import APIError

from raft.local.ports import free_ports
from tests.disk_faults.system import Append, Node, NotAcknowledgedError, System, UnreadableError
from tests.disk_faults.volume import Volume
from tests.node.harness.properties import HOST
from tests.node.harness.waiting import eventually
from tests.processes.commands import ROOT, TIED_TO_PARENT
from tests.processes.server import Server

SERVER = ROOT / ".cache" / "nats" / "nats-server"
_STREAM = "changes"
_APPEND_S = 5.0
_READ_S = 10.0
_CREATED_S = 60.0
_FETCHED = 500

_ERRORS = (Error, APIError, OSError, TimeoutError)


@dataclass(frozen=True, slots=True)
class _Server:
    process: Server
    volume: Volume
    port: int

    def data_files(self) -> list[Path]:
        return sorted(self.volume.root.glob("jetstream/$G/streams/*/msgs/*.blk"))

    def snapshot_files(self) -> list[Path]:
        return sorted(self.volume.root.glob("jetstream/**/snapshots/snap.*"))


class NatsSystem(System):
    """See `System`.

    Args:
        folder: exists; gets the output of the servers.
        volumes: one for each server.
    """

    name = "nats"

    def __init__(self, folder: Path, volumes: Sequence[Volume]) -> None:
        ports = free_ports(2 * len(volumes))
        clients, routes = ports[: len(volumes)], ports[len(volumes) :]
        others = ",".join(f"nats://{HOST}:{port}" for port in routes)
        self._servers = []
        for number, (volume, port, route) in enumerate(zip(volumes, clients, routes, strict=True), start=1):
            file = folder / f"server-{number}.conf"
            file.write_text(
                f'server_name: "n{number}"\nlisten: "{HOST}:{port}"\njetstream {{ store_dir: "{volume.root}" }}\n'
                f'cluster {{ name: "faults", listen: "{HOST}:{route}", routes: [{others}] }}\n'
            )
            process = Server(
                f"node {number}", [*TIED_TO_PARENT, str(SERVER), "-c", str(file)], log_file=folder / f"{number}.log"
            )
            self._servers.append(_Server(process, volume, port))

    @property
    def nodes(self) -> Sequence[Node]:
        return self._servers

    def start(self, node: Node) -> None:
        node.process.start()

    def create(self) -> None:
        def create() -> bool:
            with suppress(*_ERRORS):
                asyncio.run(self._create())
                return True
            return False

        eventually(create, "the stream is created", within_s=_CREATED_S, every_s=0.5)

    def leader(self) -> Node:
        def find() -> str | None:
            with suppress(*_ERRORS):
                return asyncio.run(self._leader_name())
            return None

        name = eventually(find, "the stream has a leader", within_s=_CREATED_S, every_s=0.5)
        return self._servers[int(name.removeprefix("n")) - 1]

    @contextmanager
    def writer(self) -> Iterator[Append]:
        with asyncio.Runner() as runner:
            client = runner.run(self._connect())

            def append(value: bytes) -> None:
                try:
                    runner.run(self._publish(client, value))
                except _ERRORS as error:
                    raise NotAcknowledgedError from error

            try:
                yield append
            finally:
                with suppress(*_ERRORS):
                    runner.run(client.close())

    def values(self) -> set[bytes]:
        try:
            return asyncio.run(self._read())
        except _ERRORS as error:
            raise UnreadableError(f"{type(error).__name__} {error}") from error

    async def _create(self) -> None:
        async with self._context() as context:
            await context.add_stream(name=_STREAM, subjects=[_STREAM], num_replicas=len(self._servers))

    async def _leader_name(self) -> str | None:
        async with self._context() as context:
            cluster = (await context.stream_info(_STREAM)).cluster
            return cluster.leader if cluster else None

    async def _read(self) -> set[bytes]:
        async with self._context() as context:
            end = (await context.stream_info(_STREAM)).state.last_seq
            values: set[bytes] = set()
            config = ConsumerConfig(ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.ALL)
            reader = await context.pull_subscribe(_STREAM, stream=_STREAM, config=config)
            at = 0
            while at < end:
                for message in await reader.fetch(_FETCHED, timeout=_READ_S):
                    values.add(message.data)
                    at = message.metadata.sequence.stream
            return values

    @staticmethod
    async def _publish(client: Client, value: bytes) -> None:
        await client.jetstream().publish(_STREAM, value, timeout=_APPEND_S)

    async def _connect(self) -> Client:
        return await nats.connect(
            [f"nats://{HOST}:{server.port}" for server in self._servers],
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.2,
            error_cb=_ignore,
        )

    @asynccontextmanager
    async def _context(self) -> AsyncIterator[JetStreamContext]:
        client = await self._connect()
        try:
            yield client.jetstream(timeout=_READ_S)
        finally:
            await client.close()


async def _ignore(_error: Exception) -> None:
    """Connections end all the time here, and the client reconnects by itself."""
