"""Our codec beside kio's: `python -m benchmarks.codec [--quick]`.

Both encode the same message to the same bytes, and decode these. Runs of the two alternate, so that a slow period of
the machine affects both; the medians are compared. kio encodes in Python and decodes in a compiled extension.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from kio.serial import entity_reader

from raft.codec import Message, decode, encode, encode_pieces
from raft.types import Uuid
from raft.wire.messages.fetch import (
    FetchReplicaState,
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from raft.wire.messages.nodes import BrokerEndpoint, LeaderIdAndEpoch
from raft.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)
from tests.wire.kio_twin import kio_class, kio_encode, kio_value

TOPIC_ID = Uuid("AAAAAAAAAAAAAAAAAAAAAQ")
SMALL, LARGE = b"r" * 300, b"r" * (1 << 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One message in one version."""

    name: str
    message: Message
    version: int


def fetch_request() -> Case:
    partition = FetchRequestPartition(
        partition=0,
        current_leader_epoch=5,
        fetch_offset=1000,
        last_fetched_epoch=5,
        partition_max_bytes=0,
        replica_directory_id=Uuid("AAAAAAAAAAAAAAAAAAAACQ"),
        high_watermark=990,
    )
    request = FetchRequest(
        cluster_id="AAAAAAAAAAAAAAAAAAAAAA",
        replica_state=FetchReplicaState(replica_id=3),
        max_wait_ms=500,
        min_bytes=0,
        max_bytes=1 << 20,
        topics=(FetchRequestTopic(topic_id=TOPIC_ID, partitions=(partition,)),),
    )
    return Case(name="Fetch request", message=request, version=18)


def fetch_response(name: str, records: bytes) -> Case:
    partition = FetchResponsePartition(
        partition_index=0,
        error_code=0,
        high_watermark=990,
        last_stable_offset=990,
        log_start_offset=0,
        current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=5),
        records=records,
    )
    response = FetchResponse(
        responses=(FetchResponseTopic(topic_id=TOPIC_ID, partitions=(partition,)),),
        node_endpoints=(BrokerEndpoint(node_id=1, host="localhost", port=9092),),
    )
    return Case(name=f"Fetch response, {name}", message=response, version=18)


def produce_request(name: str, records: bytes) -> Case:
    data = (ProduceRequestPartition(index=0, records=records),)
    topics = (ProduceRequestTopic(topic_id=TOPIC_ID, partition_data=data),)
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics)
    return Case(name=f"Produce request, {name}", message=request, version=13)


def produce_response() -> Case:
    partitions = (ProduceResponsePartition(index=0, error_code=0, base_offset=1000, log_start_offset=0),)
    response = ProduceResponse(responses=(ProduceResponseTopic(topic_id=TOPIC_ID, partition_responses=partitions),))
    return Case(name="Produce response", message=response, version=13)


def cases() -> list[Case]:
    return [
        fetch_request(),
        fetch_response("empty", b""),
        fetch_response("300 B", SMALL),
        fetch_response("1 MiB", LARGE),
        produce_request("300 B", SMALL),
        produce_request("1 MiB", LARGE),
        produce_response(),
    ]


def medians_us(works: list[Callable[[], object]], *, rounds: int, round_ms: float) -> list[float]:
    """Return the microseconds of one call of each: the medians of alternating rounds."""
    calls = [_calls_in(work, round_ms) for work in works]
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, count, taken in zip(works, calls, times, strict=True):
            start = time.perf_counter()
            for _ in range(count):
                work()
            taken.append((time.perf_counter() - start) / count * 1e6)
    return [statistics.median(taken) for taken in times]


def _calls_in(work: Callable[[], object], round_ms: float) -> int:
    work()
    start = time.perf_counter()
    for _ in range(10):
        work()
    return max(1, int(round_ms / 1000 / ((time.perf_counter() - start) / 10)))


def measure(case: Case, *, rounds: int, round_ms: float) -> list[float]:
    """Return the microseconds of our encode, our encode in pieces, kio's encode, our decode and kio's decode."""
    message, version, message_class = case.message, case.version, type(case.message)
    twin = kio_value(message, kio_class(message_class, version))
    read = entity_reader(type(twin))
    encoded = encode(message, version)
    assert kio_encode(twin) == encoded, "the two must do the same work"
    assert decode(message_class, version, encoded) == message
    works: list[Callable[[], object]] = [
        lambda: encode(message, version),
        lambda: encode_pieces(message, version),
        lambda: kio_encode(twin),
        lambda: decode(message_class, version, encoded),
        lambda: read(encoded, 0),
    ]
    return medians_us(works, rounds=rounds, round_ms=round_ms)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the codec with kio's.")
    parser.add_argument("--quick", action="store_true", help="two seconds instead of ten")
    quick = parser.parse_args().quick
    rounds, round_ms = (5, 8.0) if quick else (15, 20.0)
    print(f"{'microseconds':<24}{'encode':>8}{'pieces':>8}{'kio':>8}{'ratio':>7}{'pieces':>7}", end="")
    print(f"{'decode':>10}{'kio':>8}{'ratio':>7}")
    for case in cases():
        whole, pieces, kio_whole, decoded, kio_decoded = measure(case, rounds=rounds, round_ms=round_ms)
        print(f"{case.name:<24}{whole:>8.1f}{pieces:>8.1f}{kio_whole:>8.1f}", end="")
        print(f"{whole / kio_whole:>7.2f}{pieces / kio_whole:>7.2f}", end="")
        print(f"{decoded:>10.1f}{kio_decoded:>8.1f}{decoded / kio_decoded:>7.2f}")


if __name__ == "__main__":
    main()
