"""Transactions that are absurd, forged, or left open in large numbers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from raft.codec import Message
from raft.errors import ErrorCode
from raft.records.batch import build_batch
from raft.records.control_key import write_control_key
from raft.records.control_values import MAX_PARTS, write_control_value
from raft.records.record import Record
from raft.types import (
    FIRST_KEYED_PRODUCER_ID,
    FIRST_PART_PRODUCER_ID,
    ControlType,
    Endpoint,
    TransactionalId,
    WriteCommit,
    WritePart,
)
from raft.wire.apis import INIT_PRODUCER_ID, PRODUCE
from raft.wire.frames import decode_response
from raft.wire.messages import describe_transactions as describing
from raft.wire.messages.find_coordinator import FindCoordinatorRequest
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.transactions import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic, EndTxnRequest
from raft.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from raft.writers import PARTS_OF_A_WRITE, WriteId
from tests.hostile.attacks.attack import Attack, AttackInputs
from tests.hostile.connection import Connection
from tests.node.harness.batches import sealed
from tests.node.harness.properties import TOPIC
from tests.node.harness.requests import fetch_request, produce_request, produced

_PRODUCE_VERSION = 9
_INIT_VERSION = 4
_IN_FLIGHT = 50
_TIMEOUT_MS = 5_000
_FETCHES_S = 1.0
_MARKERS = 50
_LONGEST_NAME_BYTES = 1_000
_WRITE = WriteId(FIRST_KEYED_PRODUCER_ID + 77, 5)

_NAMES = (
    "",
    "x" * 1_001,
    "x" * 32_000,
    "\N{GRINNING FACE}" * 250,
    "\x00\x01\n\r\t",
    "kraft-write:",
    "kraft-write:5",
    f"kraft-write:{'9' * 4_000}:0",
    f"kraft-write:{FIRST_KEYED_PRODUCER_ID}:{1 << 46}",
    f"kraft-write:0{FIRST_KEYED_PRODUCER_ID}:1",
    f"kraft-write:{FIRST_KEYED_PRODUCER_ID}:\N{ARABIC-INDIC DIGIT ONE}",
    _WRITE.transactional_id,
    "kraft-part:5",
    "kraft-part:" + "9" * 5_000,
)


class AttackOfLeader(Attack):
    """An attack whose every connection is one to the leader, which coordinates the transactions."""

    def target(self) -> Endpoint:
        return self.scene.leader

    async def _pipelined(self, connection: Connection, requests: list[tuple[Message, int]]) -> None:
        """Send some requests at once, and then receive their responses."""
        for request, version in requests:
            await connection.send_request(request, version)
        for _ in requests:
            await connection.frame()


class AbsurdTransactionalIds(AttackOfLeader):
    """Transactional ids of any length and bytes, and forms of those of multipart writes, in every request with one."""

    width = 1

    async def round(self, connection: Connection) -> None:
        name, producer_id = self.dice.choice(_NAMES), self.dice.choice((-1, 0, 5, _WRITE.producer_id, (1 << 63) - 1))
        epoch, timeout_ms = self.dice.choice((-1, 0, 32_767)), self.dice.choice((-1, 0, 1, _TIMEOUT_MS, (1 << 31) - 1))
        init = InitProducerIdRequest(
            transactional_id=name, transaction_timeout_ms=timeout_ms, producer_id=producer_id, producer_epoch=epoch
        )
        topics = (AddPartitionsToTxnTopic(name=TOPIC, partitions=(0, 1, -1)),)
        batch = transactional_batch(producer_id, epoch=epoch) if producer_id >= 0 else b"no batch"
        await self._pipelined(
            connection,
            [
                (init, _INIT_VERSION),
                (
                    AddPartitionsToTxnRequest(
                        transactional_id=name, producer_id=producer_id, producer_epoch=epoch, topics=topics
                    ),
                    3,
                ),
                (end_txn(name, producer_id, epoch, commit=self.dice.random() < 0.5), self.dice.choice((3, 5))),
                (produce_request(batch, transactional_id=name), _PRODUCE_VERSION),
                (FindCoordinatorRequest(key_type=1, coordinator_keys=(name,) * 100), 4),
                (describing.DescribeTransactionsRequest(transactional_ids=(name,) * 100), 0),
            ],
        )


class NewTransactionalIds(AttackOfLeader):
    """InitProducerId with other long transactional ids each time: the leader remembers a limited number."""

    width = 2

    def __init__(self, inputs: AttackInputs) -> None:
        super().__init__(inputs)
        self._count = 0

    async def round(self, connection: Connection) -> None:
        await self._pipelined(connection, [(self._request(), _INIT_VERSION) for _ in range(_IN_FLIGHT)])

    def _request(self) -> InitProducerIdRequest:
        self._count += 1
        name = f"neighbour-{self._count}-".ljust(_LONGEST_NAME_BYTES, "x")
        return InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=_TIMEOUT_MS)


class WrongEpochs(AttackOfLeader):
    """AddPartitionsToTxn, EndTxn and batches of a transactional id with other epochs and producer ids."""

    width = 1

    async def round(self, connection: Connection) -> None:
        name = f"neighbour-{self.dice.randrange(3)}"
        producer = await begin_producer(connection, name)
        topics = (AddPartitionsToTxnTopic(name=TOPIC, partitions=(0,)),)
        requests: list[tuple[Message, int]] = []
        for _ in range(_IN_FLIGHT // 3):
            producer_id = self.dice.choice((producer.producer_id, producer.producer_id + 1))
            epoch = self.dice.choice((producer.producer_epoch - 1, producer.producer_epoch + 1, 0, 32_767))
            adding = AddPartitionsToTxnRequest(
                transactional_id=name, producer_id=producer_id, producer_epoch=epoch, topics=topics
            )
            requests += [
                (adding, 3),
                (end_txn(name, producer_id, epoch, commit=True), self.dice.choice((2, 5))),
                (
                    produce_request(transactional_batch(producer_id, epoch=epoch), transactional_id=name),
                    _PRODUCE_VERSION,
                ),
            ]
        await self._pipelined(connection, requests)


class OpenTransactions(AttackOfLeader):
    """Transactions of one record each, which stay open: parts of many writes, and of a few, which are aborted together.

    Readers of committed records wait for them, which the protocol demands; appends do not.
    """

    width = 1

    async def round(self, connection: Connection) -> None:
        write = WriteId(
            FIRST_KEYED_PRODUCER_ID + self.dice.randrange(3), self.dice.choice((1, self.dice.getrandbits(40)))
        )
        for _ in range(4):
            await self._pipelined(connection, [self._part(write) for _ in range(_IN_FLIGHT)])
        if self.dice.random() < 0.1:
            await connection.ask(end_txn(write.transactional_id, write.producer_id, 0, commit=False), 4)

    def _part(self, write: WriteId) -> tuple[Message, int]:
        batch = transactional_batch(write.part_producer_id(self.dice.randrange(PARTS_OF_A_WRITE)))
        return produce_request(batch, transactional_id=write.transactional_id), _PRODUCE_VERSION


class AbortedTransactions(AttackOfLeader):
    """Many aborted transactions, and fetches of a single batch among them: each names those that are aborted there."""

    width = 1

    async def round(self, connection: Connection) -> None:
        producer = await begin_producer(connection, f"neighbour-aborts-{self.dice.randrange(1000)}")
        name, producer_id, epoch = producer.name, producer.producer_id, producer.producer_epoch
        requests: list[tuple[Message, int]] = []
        for sequence in range(_IN_FLIGHT // 2):
            batch = transactional_batch(producer_id, epoch=epoch, sequence=sequence)
            requests.append((produce_request(batch, transactional_id=name), _PRODUCE_VERSION))
            requests.append((end_txn(name, producer_id, epoch, commit=False), 4))
        await self._pipelined(connection, requests)
        # Fetches wait while other attacks hold the memory of the responses.
        with suppress(TimeoutError):
            async with asyncio.timeout(_FETCHES_S):
                for _ in range(20):
                    fetch = fetch_request(self.dice.randrange(1 << 16), max_bytes=self.dice.choice((1, 1 << 20)))
                    await connection.ask(replace(fetch, isolation_level=1), 12)


class ForgedControlRecords(AttackOfLeader):
    """Produce of control records: markers, transactional ids, and commits of writes that are not staged.

    Raises:
        AssertionError: one was not refused.
    """

    width = 1

    def __init__(self, inputs: AttackInputs) -> None:
        super().__init__(inputs)
        self._forged = tuple(_forged())

    async def round(self, connection: Connection) -> None:
        for _ in range(5):
            batch = self.dice.choice(self._forged)
            name = self.dice.choice((None, _WRITE.transactional_id, "neighbour"))
            response = await connection.ask(produce_request(batch, transactional_id=name), _PRODUCE_VERSION)
            error = produced(decode_response(response, PRODUCE, _PRODUCE_VERSION)[1]).error_code
            assert error != ErrorCode.NONE, f"a forged batch was appended under {name}: {batch!r:.300}"


class Listings(AttackOfLeader):
    """Lists of all transactions, on many connections, some of which do not read them; and markers of an operator."""

    width = 8
    receive_buffer_bytes = 4096

    async def round(self, connection: Connection) -> None:
        topics = (describing.DescribeProducersTopic(name=TOPIC, partition_indexes=(0, 0, 1)),) * 300
        listing = describing.ListTransactionsRequest(
            state_filters=("Ongoing", "Empty", "Odd"), producer_id_filters=tuple(range(5_000))
        )
        everything = describing.ListTransactionsRequest(state_filters=(), producer_id_filters=())
        marked = (WritableTxnMarkerTopic(name=TOPIC, partition_indexes=(0,)),)
        markers = tuple(
            WritableTxnMarker(
                producer_id=FIRST_PART_PRODUCER_ID + self.dice.getrandbits(61),
                producer_epoch=0,
                transaction_result=self.dice.random() < 0.5,
                topics=marked,
                coordinator_epoch=0,
            )
            for _ in range(_MARKERS)
        )
        for request, version in (
            (describing.DescribeProducersRequest(topics=topics), 0),
            (listing, 1),
            (everything, 0),
            (WriteTxnMarkersRequest(markers=markers), 1),
        ):
            await connection.send_request(request, version)
        if self.dice.random() < 0.5:
            for _ in range(4):
                await connection.frame()
        else:
            await connection.stay(self.dice.uniform(1, 4))


class Producer:
    """A producer with a transactional id."""

    def __init__(self, name: str, response: InitProducerIdResponse) -> None:
        self.name = name
        self.producer_id = max(response.producer_id, 0)
        self.producer_epoch = max(response.producer_epoch, 0)


async def begin_producer(connection: Connection, name: str) -> Producer:
    """Get a producer id and an epoch for a transactional id."""
    request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=_TIMEOUT_MS)
    frame = await connection.ask(request, _INIT_VERSION)
    return Producer(name, decode_response(frame, INIT_PRODUCER_ID, _INIT_VERSION)[1])


def end_txn(name: str, producer_id: int, epoch: int, *, commit: bool) -> EndTxnRequest:
    """The end of a transaction."""
    return EndTxnRequest(transactional_id=name, producer_id=producer_id, producer_epoch=epoch, committed=commit)


def transactional_batch(producer_id: int, *, epoch: int = 0, sequence: int = 0) -> bytes:
    """A batch of a transaction, with one record."""
    record = Record(value=b"neighbour", timestamp_ms=int(time.time() * 1000))
    return build_batch(
        [record],
        producer_id=producer_id,
        producer_epoch=max(epoch, 0),
        base_sequence=sequence,
        is_transactional=True,
    )


def _forged() -> Iterator[bytes]:
    for control_type in (*ControlType, 99, -1):
        for is_transactional in (False, True):
            record = Record(key=write_control_key(control_type), value=bytes(30))
            yield build_batch(
                [record],
                producer_id=_WRITE.producer_id,
                producer_epoch=0,
                base_sequence=5,
                is_control=True,
                is_transactional=is_transactional,
            )
    named = TransactionalId(name="stolen", timeout_ms=1, previous=(5, 5))
    yield _control(ControlType.TRANSACTIONAL_ID, write_control_value(named))
    parts = tuple(
        WritePart(producer_id=_WRITE.part_producer_id(number), record_count=(1 << 63) - 1, content_checksum=1)
        for number in range(MAX_PARTS)
    )
    for count in (1, MAX_PARTS):
        yield _control(ControlType.WRITE_COMMIT, write_control_value(WriteCommit(parts=parts[:count])))
    yield _control(ControlType.WRITE_COMMIT, write_control_value(WriteCommit(parts=parts[:1] * 20_000)))
    one = write_control_value(WriteCommit(parts=parts[:1]))
    for absurd in (0, -1, MAX_PARTS + 1, (1 << 31) - 1):
        yield _control(ControlType.WRITE_COMMIT, one[:2] + absurd.to_bytes(4, "big", signed=True) + one[6:])
    yield sealed(transactional_batch(FIRST_KEYED_PRODUCER_ID + 5))
    yield sealed(transactional_batch(FIRST_PART_PRODUCER_ID + 5, epoch=32_767, sequence=(1 << 31) - 1))


def _control(control_type: ControlType, value: bytes) -> bytes:
    record = Record(key=write_control_key(control_type), value=value)
    return build_batch(
        [record], producer_id=_WRITE.producer_id, producer_epoch=0, base_sequence=_WRITE.version, is_control=True
    )
