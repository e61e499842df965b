"""The files of a node's directory, with any damage."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from crc32c import crc32c

from raft.errors import ConfigError, DecodeError, StorageError
from raft.records.batch import build_batch
from raft.records.batches import read_batches
from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from raft.records.control_key import write_control_key
from raft.records.record import Record
from raft.storage.aborted_transactions import aborted_in
from raft.storage.election_state import ELECTION_STATE_NAME, ElectionStateFile
from raft.storage.epoch_checkpoint import EPOCH_CHECKPOINT_NAME, read_epochs
from raft.storage.flushed_mark import FLUSHED_MARK_NAME, FlushedMark, FlushedOffsets
from raft.storage.high_watermark import HIGH_WATERMARK_NAME, HighWatermarkCheckpoint
from raft.storage.log import Log
from raft.storage.log_config import LogConfig
from raft.storage.meta_properties import META_PROPERTIES_NAME, claim_directory
from raft.storage.partition_metadata import PARTITION_METADATA_NAME, claim_partition
from raft.storage.producer_snapshot import decode_producer_snapshot, encode_producer_snapshot
from raft.storage.recovery_point import RECOVERY_POINT_NAME, RecoveryPoint
from raft.storage.transactions_section import read_transactions, write_transactions
from raft.transactions import (
    AbortedTransaction,
    CommitImage,
    EndedWrite,
    OpenTransaction,
    ProducerStateImage,
    TransactionalProducer,
    TransactionsImage,
)
from raft.types import (
    FIRST_KEYED_PRODUCER_ID,
    FIRST_PART_PRODUCER_ID,
    ControlType,
    ElectionState,
    Epoch,
    NodeId,
    Offset,
    ReplicaKey,
    Uuid,
)
from raft.writers import TableImage, Written
from tests.fuzz import kafka_bytes
from tests.fuzz.decoder import Decoder, MemoryBound, Sample
from tests.fuzz.record_decoders import leader_change, sealed_mostly
from tests.memory_files.files import MemoryFiles

TOPIC = "__cluster_metadata"
TOPIC_ID = Uuid("AAAAAAAAAAAAAAAAAAAAAg")
DIRECTORY = f"{TOPIC}-0"
SNAPSHOT_END = Offset(9)
NODE_ID = NodeId(1)

_BOUND = MemoryBound(fixed_bytes=64 << 10, per_byte=200)
"""An empty line of a checkpoint takes one byte, and becomes a list that is an element of two others."""

_LOG_BOUND = MemoryBound(fixed_bytes=(256 << 10) + 2 * DEFAULT_MAX_DECOMPRESSED_BYTES, per_byte=64)
"""A search for a timestamp decompresses batches: a codec's buffer, and a copy of its content."""

_JSON_WORDS = (
    *(b"null", b"true", b"-1", b"-2", b"0", b"1", b"2147483648", b"1e400", b"-0", b"1.5", b"NaN", b"Infinity"),
    *(
        b'"',
        b"{}",
        b"[]",
        b'"\\ud800"',
        b"[" * 3000,
        b"9" * 5000,
        b'"data_version":1,',
        b'"leaderEpoch":1,',
        b"\xef\xbb\xbf",
    ),
)
_TEXT_WORDS = (
    b"\n",
    b"\r\n",
    b" ",
    b"0",
    b"-1",
    b"1",
    b"+1",
    b"1_0",
    b"\xd9\xa3",
    b"\x85",
    b"=",
    b"\\",
    b"\\u0041",
    b"#",
)


def _files(content: Mapping[str, bytes]) -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory(DIRECTORY)
    for name, data in content.items():
        files.put(name, data)
    return files


def read_election_state(content: bytes) -> ElectionState:
    """Read quorum-state, write it and read it again."""
    files = _files({ELECTION_STATE_NAME: content})
    file = ElectionStateFile(files, ELECTION_STATE_NAME)
    state = file.read()
    file.write(state, kraft_version=1)
    assert file.read() == state, "it changes when it is written and read"
    return state


def read_epoch_checkpoint(content: bytes) -> object:
    """Read leader-epoch-checkpoint."""
    return read_epochs(_files({EPOCH_CHECKPOINT_NAME: content}), EPOCH_CHECKPOINT_NAME)


def read_recovery_point(content: bytes) -> Offset:
    """Read recovery-point-offset-checkpoint."""
    files = _files({RECOVERY_POINT_NAME: content})
    return RecoveryPoint(files, RECOVERY_POINT_NAME, topic=TOPIC, partition=0).offset


def read_flushed_mark(content: bytes) -> FlushedOffsets | None:
    """Read flushed-offsets; what it says is what is written again."""
    mark = FlushedMark(_files({FLUSHED_MARK_NAME: content}), FLUSHED_MARK_NAME)
    assert mark.offsets is None or mark.offsets.encode() == content
    mark.write(FlushedOffsets(Offset(1), Offset(2), Offset(1)))
    mark.close()
    return mark.offsets


def read_meta_properties(content: bytes) -> object:
    """Read meta.properties."""
    files = _files({META_PROPERTIES_NAME: content})
    return claim_directory(files, cluster_id=None, node_id=NODE_ID, entropy=bytes(16))


def read_partition_metadata(content: bytes) -> None:
    """Read partition.metadata."""
    claim_partition(_files({PARTITION_METADATA_NAME: content}), PARTITION_METADATA_NAME, TOPIC_ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    """A log with one mutated file: opens it, reads all of it, and opens it again.

    Fields:
        content: its files before the mutation.
        mutated: the name of the mutated file.
        recovery_point: everything below is flushed.
    """

    content: Mapping[str, bytes]
    mutated: str
    recovery_point: int

    def __call__(self, data: bytes) -> int:
        """Return where the log ends.

        Raises:
            StorageError: it cannot be opened.
            AssertionError: it can be opened but not read, or its end differs when it is opened again.
        """
        checkpoint = f"0\n1\n{TOPIC} 0 {self.recovery_point}\n".encode()
        files = _files({**self.content, f"{DIRECTORY}/{self.mutated}": data, RECOVERY_POINT_NAME: checkpoint})
        log = self._open(files)
        self._read_all(log)
        log.close()
        end_offset = log.end_offset
        assert self._open(files).end_offset == end_offset, "the end differs when it is opened again"
        return end_offset

    def _open(self, files: MemoryFiles) -> Log:
        recovery_point = RecoveryPoint(files, RECOVERY_POINT_NAME, topic=TOPIC, partition=0)
        # There is no tail in memory, so all is read from the files.
        return Log.open(files, DIRECTORY, LogConfig(segment_bytes=6000, tail_bytes=0), recovery_point)

    def _read_all(self, log: Log) -> None:
        offset = log.start_offset
        while offset < log.end_offset:
            data = log.read(offset, max_bytes=1000, end_offset=log.end_offset)
            offset = list(read_batches(data))[-1].header.end_offset
        aborted_in(log, log.start_offset, log.end_offset)
        log.find_offset_by_timestamp(1_700_000_000_000, log.end_offset)
        log.find_largest_timestamp(log.end_offset)


def log_files() -> dict[str, bytes]:
    """Return the files of a log of two segments, whose indexes have entries, also that of aborted transactions."""
    files = _files({})
    recovery_point = RecoveryPoint(files, RECOVERY_POINT_NAME, topic=TOPIC, partition=0)
    log = Log.open(files, DIRECTORY, LogConfig(segment_bytes=6000), recovery_point)
    for offset in range(6):
        if offset % 3 == 0:
            payload = leader_change(offset)
        else:
            records = [Record(value=b"v" * 2500, timestamp_ms=1_700_000_000_000 + offset)]
            payload = build_batch(records, base_offset=Offset(offset), epoch=Epoch(2))
        log.append(list(read_batches(payload)))
    log.append([*list(read_batches(_transactional_batch(6))), *list(read_batches(_abort_marker(7)))], [_ABORTED])
    log.close()
    return {f"{DIRECTORY}/{name}": files.read(f"{DIRECTORY}/{name}") for name in files.names_in(DIRECTORY)}


_ABORTED = AbortedTransaction(
    producer_id=17, first_offset=Offset(6), last_offset=Offset(7), last_stable_offset=Offset(8)
)


def _transactional_batch(base_offset: int) -> bytes:
    return build_batch(
        [Record(value=b"of a transaction")],
        base_offset=Offset(base_offset),
        epoch=Epoch(2),
        producer_id=_ABORTED.producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )


def _abort_marker(base_offset: int) -> bytes:
    return build_batch(
        [Record(key=write_control_key(ControlType.ABORT), value=bytes(6))],
        base_offset=Offset(base_offset),
        epoch=Epoch(2),
        producer_id=_ABORTED.producer_id,
        producer_epoch=0,
        is_control=True,
        is_transactional=True,
    )


def _election_states() -> Iterator[Sample]:
    yield Sample(name="Kafka's", content=kafka_bytes.QUORUM_STATE, decode=read_election_state)
    voted_key = ReplicaKey(NodeId(2), Uuid("AAECAwQFBgcICQoLDA0ODw"))
    for kraft_version in (0, 1):
        files = _files({})
        state = ElectionState(epoch=Epoch(7), leader_id=NodeId(2), voted_key=voted_key)
        ElectionStateFile(files, ELECTION_STATE_NAME, voters=[NodeId(1), NodeId(2)]).write(
            state, kraft_version=kraft_version
        )
        yield Sample(
            name=f"version {kraft_version}", content=files.read(ELECTION_STATE_NAME), decode=read_election_state
        )


def read_high_watermark(content: bytes) -> Offset:
    """Read replication-offset-checkpoint."""
    files = _files({HIGH_WATERMARK_NAME: content})
    return HighWatermarkCheckpoint(files, HIGH_WATERMARK_NAME, topic=TOPIC, partition=0).offset


def read_producer_snapshot(content: bytes) -> ProducerStateImage:
    """Read a producer snapshot, write it and read it again."""
    image = decode_producer_snapshot(content, end_offset=SNAPSHOT_END)
    again = decode_producer_snapshot(encode_producer_snapshot(image), end_offset=SNAPSHOT_END)
    assert again == image, "it changes when it is written and read"
    return image


def read_transactions_section(content: bytes) -> TransactionsImage:
    """Read the transactions of a producer snapshot, write them and read them again."""
    image, end = read_transactions(content, 0, SNAPSHOT_END, has_ended_writes=True)
    assert end <= len(content), "more bytes than there are"
    again = write_transactions(image)
    read = read_transactions(again, 0, SNAPSHOT_END, has_ended_writes=bool(image.ended_writes))
    assert read == (image, len(again)), "it changes when it is written and read"
    return image


def _written(base_offset: int, sequence: int, checksum: int | None) -> Written:
    return Written(
        epoch=3,
        sequence=sequence,
        record_count=2,
        base_offset=Offset(base_offset),
        end_offset=Offset(base_offset + 2),
        log_time_ms=1_700_000_000_000,
        content_checksum=checksum,
    )


def some_transactions() -> TransactionsImage:
    """Return an open transaction of Kafka's producer and one of a part, two transactional ids, a commit and a write."""
    of_kafka = OpenTransaction(
        producer_id=17,
        producer_epoch=3,
        first_offset=Offset(2),
        last_offset=Offset(4),
        first_timestamp_ms=1_700_000_000_000,
        last_timestamp_ms=1_700_000_000_001,
        record_count=3,
        content_checksum=0,
    )
    part = OpenTransaction(
        producer_id=FIRST_PART_PRODUCER_ID + 9,
        producer_epoch=0,
        first_offset=Offset(6),
        last_offset=Offset(7),
        record_count=2,
        content_checksum=7,
        history=(_written(6, 0, 7),),
    )
    producer = TransactionalProducer(
        name="orders", producer_id=17, producer_epoch=3, timeout_ms=60_000, previous=(17, 2), used_at=Offset(5)
    )
    ended = replace(producer, name="ordérs", producer_id=18, previous=None, last_end=ControlType.ABORT)
    commit = CommitImage(offset=Offset(8), first_offset=Offset(6), missing=(part.producer_id,))
    write = EndedWrite(first_offset=Offset(1), end_offset=Offset(5))
    return TransactionsImage(
        transactions=(of_kafka, part), producers=(producer, ended), commits=(commit,), ended_writes=(write,)
    )


def a_producer_snapshot() -> bytes:
    """Return a snapshot of an idempotent producer with two batches, a keyed writer, and some transactions."""
    histories = {17: (_written(0, 0, None), _written(2, 2, None)), FIRST_KEYED_PRODUCER_ID + 5: (_written(4, 0, 99),)}
    writers = TableImage(
        end_offset=SNAPSHOT_END, log_time_ms=1_700_000_000_000, first_log_time_ms=1, histories=histories
    )
    return encode_producer_snapshot(ProducerStateImage(writers=writers, transactions=some_transactions()))


def seal_producer_snapshot(content: bytes) -> bytes:
    """Return a snapshot with a correct checksum, so that the rest of it is read."""
    return content[:2] + struct.pack(">I", crc32c(content[6:])) + content[6:]


def _small_files() -> Iterator[Sample]:
    yield Sample(name="epochs", content=kafka_bytes.LEADER_EPOCH_CHECKPOINT, decode=read_epoch_checkpoint)
    yield Sample(name="recovery point", content=f"0\n1\n{TOPIC} 0 117\n".encode(), decode=read_recovery_point)
    offsets = FlushedOffsets(recovery_point=Offset(5), end=Offset(9), committed=Offset(7))
    yield Sample(name="flushed offsets", content=offsets.encode(), decode=read_flushed_mark)
    yield Sample(name="high watermark", content=f"0\n1\n{TOPIC} 0 117\n".encode(), decode=read_high_watermark)
    yield Sample(name="meta.properties", content=kafka_bytes.META_PROPERTIES, decode=read_meta_properties)
    yield Sample(name="partition.metadata", content=kafka_bytes.PARTITION_METADATA, decode=read_partition_metadata)


def _logs() -> Iterator[Sample]:
    content = log_files()
    for path, data in content.items():
        name = path.rpartition("/")[2]
        for recovery_point in (0, 6):
            yield Sample(
                name=f"{name}, recovery point {recovery_point}",
                content=data,
                decode=LogDirectory(content=content, mutated=name, recovery_point=recovery_point),
            )


STORAGE_DECODERS = (
    Decoder(
        name="quorum-state",
        samples=tuple(_election_states()),
        refusals=(StorageError,),
        bound=_BOUND,
        words=_JSON_WORDS,
        share=2,
    ),
    Decoder(
        name="small files",
        samples=tuple(_small_files()),
        refusals=(StorageError, ConfigError),
        bound=_BOUND,
        words=_TEXT_WORDS,
        share=2,
    ),
    Decoder(
        name="producer snapshots",
        samples=(Sample(name="two writers", content=a_producer_snapshot(), decode=read_producer_snapshot),),
        refusals=(DecodeError,),
        bound=_BOUND,
        repair=lambda _dice, content: seal_producer_snapshot(content),
        share=2,
    ),
    Decoder(
        name="transactions sections",
        samples=(
            Sample(
                name="of every kind",
                content=write_transactions(some_transactions()),
                decode=read_transactions_section,
            ),
        ),
        refusals=(DecodeError, struct.error),
        bound=_BOUND,
    ),
    Decoder(
        name="log directories",
        samples=tuple(_logs()),
        refusals=(StorageError,),
        bound=_LOG_BOUND,
        repair=sealed_mostly,
    ),
)
