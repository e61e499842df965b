"""Producer snapshots: what is in a file, which one a start uses, and when one is removed (rule LOG-22)."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c

from raft.errors import DecodeError
from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.storage.log_config import LogConfig
from raft.storage.producer_snapshot import decode_producer_snapshot, encode_producer_snapshot
from raft.storage.written_entry import write_written
from raft.transactions import AbortedTransaction, ProducerState, ProducerStateImage
from raft.types import FIRST_KEYED_PRODUCER_ID, Batch, BatchHeader, ElectionState, Epoch, Offset, OffsetAndEpoch
from raft.writers import TableImage, Written
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import crash_at_every_call, snapshot_bytes
from tests.storage.test_directory import PARTITION, opened
from tests.transactions.headers import OTHER_PART, PART, data, part, write_commit

KEYED_WRITER = FIRST_KEYED_PRODUCER_ID + 7
SMALL = LogConfig(segment_bytes=400)


def written(base_offset: int, *, sequence: int = 0, records: int = 1, checksum: int | None = None) -> Written:
    return Written(
        epoch=2,
        sequence=sequence,
        record_count=records,
        base_offset=Offset(base_offset),
        end_offset=Offset(base_offset + records),
        log_time_ms=1000 + base_offset,
        content_checksum=checksum,
    )


def image(end_offset: int = 20) -> ProducerStateImage:
    writers = TableImage(
        end_offset=Offset(end_offset),
        log_time_ms=1234,
        first_log_time_ms=12,
        histories={
            5: (written(1, records=3), written(4, sequence=3)),
            KEYED_WRITER: (written(9, checksum=(1 << 64) - 1),),
        },
    )
    return ProducerStateImage(writers=writers)


@pytest.mark.rule("LOG-22")
def test_table_is_what_it_was_when_read_again() -> None:
    assert decode_producer_snapshot(encode_producer_snapshot(image()), end_offset=Offset(20)) == image()


@pytest.mark.rule("LOG-22")
def test_snapshot_begins_as_kafka_reads_it() -> None:
    content = encode_producer_snapshot(image())

    version, checksum, count = struct.unpack_from(">hIi", content)
    entries = [struct.unpack_from(">qhiqiqiq", content, 10 + 46 * at) for at in range(count)]

    assert (version, checksum) == (1, crc32c(content[6:]))
    assert entries == [(5, 2, 3, 4, 0, 1004, -1, -1), (KEYED_WRITER, 2, 0, 9, 0, 1009, -1, -1)]


def sealed(body: bytes) -> bytes:
    return struct.pack(">hI", 1, crc32c(body)) + body


@pytest.mark.rule("LOG-22")
def test_write_of_more_records_than_an_int32_counts_is_in_the_snapshot() -> None:
    state = ProducerState()
    state.appended(data(PART, 0))
    state.appended(write_commit(part(PART, records=(1 << 31) - 1), part(OTHER_PART, records=1), at=1))
    image = state.image(Offset(2))

    assert decode_producer_snapshot(encode_producer_snapshot(image), end_offset=Offset(2)) == image


def of_producers(*producers: tuple[int, int]) -> bytes:
    """A snapshot without transactions, with these producer ids, and so many batches of each."""
    entries = b"".join(struct.pack(">qhiqiqiq", each, 2, 0, 1, 0, 1001, -1, -1) for each, _batches in producers)
    histories = (struct.pack(">b", batches) + write_written(written(1)) * batches for _id, batches in producers)
    return sealed(
        struct.pack(">i", len(producers))
        + entries
        + struct.pack(">4shqq", b"KSPK", 2, 5, 4)
        + b"".join(histories)
        + bytes(12)
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "incomplete", id="empty"),
        pytest.param(encode_producer_snapshot(image())[:-1], "with checksum", id="incomplete"),
        pytest.param(b"\0\2" + encode_producer_snapshot(image())[2:], "of version 2, expected 1", id="version"),
        pytest.param(sealed(struct.pack(">i", 5)), "with 5 producers in 10 bytes", id="count"),
        pytest.param(sealed(struct.pack(">i", -1)), "with -1 producers", id="negative count"),
        pytest.param(sealed(struct.pack(">i", 0)), "of Kafka, without the part", id="Kafka's own"),
        pytest.param(sealed(struct.pack(">i4sh", 0, b"KSPK", 4) + bytes(16)), "second part has version 4", id="ours"),
        pytest.param(sealed(struct.pack(">i4sh", 0, b"KSPK", 1) + bytes(16)), "version 1, expected 2 or 3", id="first"),
        pytest.param(
            sealed(struct.pack(">i4shqq", 0, b"KSPK", 2, -1, -1) + bytes(12) + b"?"), "1 bytes behind", id="more"
        ),
        pytest.param(sealed(struct.pack(">i4sh", 0, b"KSPK", 2)), "incomplete", id="ours incomplete"),
        pytest.param(of_producers((5, 0)), "with 0 batches of producer id 5", id="producer without batches"),
        pytest.param(of_producers((6, 1), (5, -1)), "with -1 batches of producer id 5", id="negative batches"),
        pytest.param(of_producers((5, 1), (6, 1), (5, 2)), "with 2 batches of producer id 5", id="producer twice"),
    ],
)
def test_snapshot_is_refused_with_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        decode_producer_snapshot(content, end_offset=Offset(20))


def test_snapshot_is_read_when_each_producer_has_batches() -> None:
    found = decode_producer_snapshot(of_producers((5, 1), (6, 2)), end_offset=Offset(20))

    assert found.writers.histories == {5: (written(1),), 6: (written(1),) * 2}


@pytest.mark.rule("LOG-22")
def test_snapshot_is_refused_when_it_ends_early_with_a_good_checksum() -> None:
    body = encode_producer_snapshot(image())[6:]

    for size_bytes in range(len(body)):
        with pytest.raises(DecodeError):
            decode_producer_snapshot(sealed(body[:size_bytes]), end_offset=Offset(20))


def test_snapshot_is_refused_when_a_batch_is_past_its_end() -> None:
    with pytest.raises(DecodeError, match="up to 5 with a batch from 9 to 10"):
        decode_producer_snapshot(encode_producer_snapshot(image()), end_offset=Offset(5))


# In a directory


def produce(offset: int, *, producer_id: int = 5, sequence: int | None = None) -> Batch:
    payload = build_batch(
        [Record(value=b"x" * 80, timestamp_ms=1000 + offset)],
        base_offset=Offset(offset),
        epoch=Epoch(1),
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=offset if sequence is None else sequence,
    )
    return Batch(header=read_header(payload), payload=payload)


def table_of(headers: list[BatchHeader]) -> ProducerState:
    table = ProducerState()
    for header in headers:
        table.appended(header)
    return table


def run(files: MemoryFiles, batches: list[Batch], *, committed: int = 12) -> None:
    """Append one batch after the other, with a snapshot wherever a segment was begun."""
    table = ProducerState()
    directory = opened(files, config=SMALL, producers=table)
    directory.store_election_state(ElectionState(epoch=Epoch(1)))
    for batch in batches:
        table.appended(batch.header)
        if directory.append([batch]):
            directory.write_producer_snapshot(table.image(batch.header.end_offset))
            directory.log.flush()
            directory.note_committed(Offset(min(batch.header.end_offset, committed)))
            directory.write_checkpoints()
    directory.close()


def snapshots(files: MemoryFiles) -> list[str]:
    return [name for name in files.names_in(PARTITION) if name.endswith(".snapshot")]


WRITTEN = [produce(offset, producer_id=5 if offset % 2 else KEYED_WRITER) for offset in range(12)]


@pytest.mark.rule("LOG-22")
def test_table_is_that_of_the_log_when_a_start_begins_with_a_snapshot() -> None:
    files = MemoryFiles()
    run(files, WRITTEN)
    assert len(snapshots(files)) == 2, "the newest two are kept"
    counted: list[Offset] = []

    class Counting(ProducerState):
        def appended(self, header: BatchHeader) -> AbortedTransaction | None:
            counted.append(header.base_offset)
            return super().appended(header)

    table = Counting()
    opened(files, config=SMALL, producers=table).close()

    assert table.image(Offset(12)) == table_of([batch.header for batch in WRITTEN]).image(Offset(12))
    assert counted == [offset for offset in range(12) if offset >= int(snapshots(files)[-1][:20])]


@pytest.mark.parametrize("damaged", [1, 2])
@pytest.mark.rule("LOG-22")
def test_damaged_snapshot_is_skipped_with_a_warning(damaged: int, caplog: pytest.LogCaptureFixture) -> None:
    files = MemoryFiles()
    run(files, WRITTEN)
    for name in snapshots(files)[-damaged:]:
        files.flip_bit(f"{PARTITION}/{name}", 20)
    table = ProducerState()

    opened(files, config=SMALL, producers=table).close()

    assert table.image(Offset(12)) == table_of([batch.header for batch in WRITTEN]).image(Offset(12))
    assert len(caplog.records) == damaged
    assert "is ignored: producer snapshot with checksum" in caplog.text


@pytest.mark.rule("LOG-22")
def test_snapshot_above_a_truncation_is_removed_before_the_offsets_are_written_again() -> None:
    files = MemoryFiles()
    run(files, WRITTEN)
    last = int(snapshots(files)[-1][:20])
    table = ProducerState()
    directory = opened(files, config=SMALL, producers=table)

    directory.truncate(Offset(last - 1))

    assert last not in [int(name[:20]) for name in snapshots(files)]
    files.crash()
    assert last not in [int(name[:20]) for name in snapshots(files)]


@pytest.mark.rule("LOG-22")
def test_batches_that_may_be_truncated_can_be_undone_though_a_snapshot_includes_them() -> None:
    files = MemoryFiles()
    run(files, WRITTEN, committed=5)
    assert int(snapshots(files)[0][:20]) > 5
    table = ProducerState()
    directory = opened(files, config=SMALL, producers=table)

    directory.truncate(Offset(5))
    table.truncated(Offset(5))

    assert table.image(Offset(5)) == table_of([batch.header for batch in WRITTEN[:5]]).image(Offset(5))
    assert not snapshots(files)


@pytest.mark.rule("LOG-22")
def test_snapshot_past_the_end_of_the_log_is_gone_after_a_start() -> None:
    files = MemoryFiles()
    run(files, WRITTEN)
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        files.lose(f"{PARTITION}/{name}")
    log = next(name for name in reversed(files.names_in(PARTITION)) if name.endswith(".log"))
    last = int(log[:20])
    files.lose(f"{PARTITION}/{log}")
    table = ProducerState()

    directory = opened(files, config=SMALL, producers=table)

    assert directory.log.end_offset == last
    assert table.image(Offset(last)) == table_of([batch.header for batch in WRITTEN[:last]]).image(Offset(last))
    assert all(int(name[:20]) <= last for name in snapshots(files))


@pytest.mark.rule("LOG-22")
def test_table_forgets_committed_batches_that_an_operator_truncated() -> None:
    files = MemoryFiles()
    run(files, WRITTEN)
    files.lose(f"{PARTITION}/recovery-point-offset-checkpoint")
    last = max(int(name[:20]) for name in files.names_in(PARTITION) if name.endswith(".log"))
    assert int(snapshots(files)[-1][:20]) > last, "the newest snapshot counts in what is cut"
    files.lose(f"{PARTITION}/{last:020d}.log")
    table = ProducerState()

    directory = opened(files, config=SMALL, producers=table)

    assert directory.log.end_offset == directory.committed_offset == last
    assert table.image(Offset(last)) == table_of([batch.header for batch in WRITTEN[:last]]).image(Offset(last))


@pytest.mark.rule("LOG-22")
def test_snapshots_go_when_another_log_begins() -> None:
    files = MemoryFiles()
    run(files, WRITTEN)
    directory = opened(files, config=SMALL)
    begin = OffsetAndEpoch(offset=Offset(500), epoch=Epoch(3))
    directory.store_snapshot_piece(begin, 0, snapshot_bytes(begin))
    contents = directory.check_snapshot(begin)
    assert contents is not None, "it is whole"
    directory.install_snapshot(contents)

    assert not snapshots(files)


@pytest.mark.rule("LOG-22")
def test_table_is_that_of_the_log_when_the_power_fails_at_any_call() -> None:
    other = [*WRITTEN[:5], *(produce(offset, producer_id=6, sequence=offset - 5) for offset in range(5, 12))]

    def truncate_and_go_on(files: MemoryFiles) -> None:
        table = ProducerState()
        directory = opened(files, config=SMALL, producers=table)
        directory.truncate(Offset(5))
        directory.close()
        run_on = table_of([batch.header for batch in WRITTEN[:5]])
        directory = opened(files, config=SMALL)
        for batch in other[5:]:
            run_on.appended(batch.header)
            if directory.append([batch]):
                directory.write_producer_snapshot(run_on.image(batch.header.end_offset))
                directory.log.flush()
                directory.note_committed(batch.header.end_offset)
                directory.write_checkpoints()
        directory.close()

    for case, files in crash_at_every_call(lambda files: run(files, WRITTEN, committed=5), truncate_and_go_on):
        table = ProducerState()
        directory = opened(files, config=SMALL, producers=table)
        end = directory.log.end_offset
        logs = [batches[:end] for batches in (WRITTEN, other)]
        images = [table_of([batch.header for batch in batches]).image(end) for batches in logs]
        assert table.image(end) in images, case
        directory.close()
