"""The load generator, `benchmarks/load`. It is compiled Go, because one Python process cannot run 256 clients faster
than a quorum responds. It is built at the first use, if Go is installed.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.program import Program
from benchmarks.servers.etcd import Etcd
from benchmarks.servers.missing import MissingPeerError, require_programs
from benchmarks.servers.quorum import Quorum
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Uuid
from raft.wire.apis import PRODUCE
from raft.wire.frames import encode_request, encode_response
from raft.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)
from tests.node.harness.properties import TOPIC

VALUE_BYTES = 256

_SOURCE = Path(__file__).parent / "load"
_BINARY = Path(__file__).parents[1] / ".cache" / "load"
_TOPIC_ID = Uuid("AAAAAAAAAAAAAAAAAAAAAQ")
_TIMEOUT_MS = 30_000
_LONGEST_S = 300
_SIZE_BYTES = 4
_NOW_MS = 1_760_000_000_000
"""The timestamp of every record: the generator sends the same bytes repeatedly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """The compiled program.

    Fields:
        binary: its file.
        folder: gets the files that it reads.
    """

    binary: Path
    folder: Path

    @classmethod
    def build(cls, folder: Path) -> Generator:
        """Compile it; Go does nothing if it is up to date.

        Raises:
            MissingPeerError: Go is not installed, or cannot build it.
        """
        require_programs("go", needed_for="the load generator", advice="install Go 1.25 or newer, then run this again")
        command = ["go", "build", "-buildvcs=false", "-o", str(_BINARY), "."]
        built = subprocess.run(command, cwd=_SOURCE, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            raise MissingPeerError(f"the load generator cannot be built: {built.stderr.strip()[-500:]}")
        return cls(binary=_BINARY, folder=folder)

    def produce(self, quorum: Quorum, *, clients: int, total: int) -> dict[str, float]:
        """Append to a quorum of this project's: records of `VALUE_BYTES`, each in a Produce request of its own.

        Args:
            quorum: its leader gets all requests.
            clients: how many; each has one request in flight, on a connection of its own.
            total: appends of all clients together.

        Returns:
            The measures, as `put` names them.

        Raises:
            AssertionError: an acknowledged append is not in the log.
        """
        frame = self.folder / "produce.frame"
        frame.write_bytes(produce_frame())
        with quorum.client() as client:
            start_offset = client.last_stable_offset()
            arguments = {
                "address": str(quorum.leader_endpoint),
                "frame": str(frame),
                "error-at": str(error_position()),
            } | quorum.load_arguments
            summary = self._run("produce", **arguments, clients=str(clients), total=str(total))
            appended = client.last_stable_offset() - start_offset
        assert appended == summary["appends"], (
            f"{summary['appends']:.0f} appends are acknowledged, {appended} are in the log"
        )
        return _measures(summary)

    def put(self, etcd: Etcd, *, clients: int, total: int) -> dict[str, float]:
        """Put to etcd: values of `VALUE_BYTES`, each under a new key; see `produce`.

        Returns:
            appends a second of all clients together, and the time of one append: median and 99th percentile.
        """
        arguments = {"endpoints": etcd.endpoints, "value-bytes": str(VALUE_BYTES)}
        return _measures(self._run("put", **arguments, clients=str(clients), total=str(total)))

    def recovery(self, etcd: Etcd) -> Program:
        """Return a program that measures etcd as `benchmarks.side.recovery` measures a quorum."""
        return Program(
            "the load generator",
            [str(self.binary), "put-after-signal", "-endpoints", etcd.endpoints],
            environment={},
            folder=self.folder,
        )

    def _run(self, command: str, **arguments: str) -> dict[str, float]:
        words = [word for name, value in arguments.items() for word in (f"-{name}", value)]
        ended = subprocess.run(
            [self.binary, command, *words], capture_output=True, text=True, timeout=_LONGEST_S, check=False
        )
        assert ended.returncode == 0, f"the load generator ended with {ended.returncode}: {ended.stderr[-2000:]}"
        summary: dict[str, float] = json.loads(ended.stdout)
        return summary


def produce_frame() -> bytes:
    """Return the frame of a Produce request with one record."""
    batch = build_batch([Record(value=b"x" * VALUE_BYTES, timestamp_ms=_NOW_MS)])
    partition = ProduceRequestPartition(index=0, records=batch)
    topic = ProduceRequestTopic(name=TOPIC, topic_id=_TOPIC_ID, partition_data=(partition,))
    request = ProduceRequest(acks=-1, timeout_ms=_TIMEOUT_MS, topic_data=(topic,))
    return encode_request(request, PRODUCE.versions.highest, correlation_id=1, client_id="load")


def error_position() -> int:
    """Return the position of the error code in the response to that request, counted from the end of the size field.

    It is found by encoding two responses that differ in the error code only.
    """

    def answer(error_code: int) -> bytes:
        partition = ProduceResponsePartition(index=0, error_code=error_code, base_offset=0)
        topic = ProduceResponseTopic(name=TOPIC, topic_id=_TOPIC_ID, partition_responses=(partition,))
        return encode_response(ProduceResponse(responses=(topic,)), PRODUCE.versions.highest, correlation_id=1)

    frames = answer(0), answer(-1)
    first = next(at for at, (one, other) in enumerate(zip(*frames, strict=True)) if one != other)
    return first - _SIZE_BYTES


def _measures(summary: dict[str, float]) -> dict[str, float]:
    return {
        "appends/s": summary["appends"] / summary["seconds"],
        "p50 ms": summary["p50_ms"],
        "p99 ms": summary["p99_ms"],
    }
