"""A disk without room delays what the storage writes; nothing is lost, and each call may be repeated (rule LOG-27)."""

from __future__ import annotations

import errno
from contextlib import suppress
from pathlib import Path

import pytest

from raft.errors import DiskFullError, StorageError
from raft.storage.atomic_file import replace_file
from raft.storage.directory import ReplicaDirectory
from raft.storage.disk import DiskFiles
from raft.storage.election_state import ElectionStateFile
from raft.storage.epoch_checkpoint import EPOCH_CHECKPOINT_NAME, mend_epochs, read_epochs
from raft.storage.files import refused
from raft.storage.grown_file import made_equal
from raft.storage.log_config import LogConfig
from raft.storage.opened_directory import ReplicaIdentity
from raft.transactions import AbortedTransaction
from raft.types import ElectionState, Epoch, EpochStart, NodeId, Offset, OffsetAndEpoch, Uuid
from tests.memory_files.files import Call, MemoryFiles
from tests.storage.logs import DIRECTORY, FIRST_SEGMENT, batch, batches, content, open_log, snapshot_bytes

IDENTITY = ReplicaIdentity(topic="log", topic_id=Uuid("AAAAAAAAAAAAAAAAAAAAAQ"), node_id=NodeId(1))
LARGE = b"x" * 2000
"""More than the last block of a file has room for."""


def open_directory(files: MemoryFiles, *, segment_bytes: int = 1 << 20) -> ReplicaDirectory:
    return ReplicaDirectory.open(files, IDENTITY, entropy=bytes(16), config=LogConfig(segment_bytes=segment_bytes))


@pytest.mark.rule("LOG-27")
@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("open", DiskFullError),
        ("write", DiskFullError),
        ("rename", DiskFullError),
        ("flush", StorageError),
        ("flush folder", StorageError),
    ],
)
def test_lack_of_room_is_told_apart_but_at_a_flush(call: str, kind: type[StorageError], reason: int) -> None:
    assert type(refused(call, "path", OSError(reason, "no room"))) is kind


@pytest.mark.rule("LOG-27", "LOG-17")
@pytest.mark.parametrize("written_bytes", [0, 1, 30])
def test_append_without_room_leaves_no_part_and_may_be_repeated(written_bytes: int) -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append([batch(0)])
    size_bytes = len(files.read(FIRST_SEGMENT))
    files.fail(Call.WRITE, reason=errno.ENOSPC, written_bytes=written_bytes)

    with pytest.raises(DiskFullError, match="cannot write"):
        log.append([batch(1)])

    assert (log.end_offset, len(files.read(FIRST_SEGMENT))) == (1, size_bytes)
    log.append([batch(1)])
    log.flush()
    assert content(log) == content(open_log(files)) == [batch(0), batch(1)]


@pytest.mark.rule("LOG-27")
@pytest.mark.parametrize("nth", range(1, 5))
def test_append_of_several_segments_goes_on_where_it_was(nth: int) -> None:
    files = MemoryFiles()
    three = batches([1, 1, 1])
    log = open_log(files, segment_bytes=len(three[0].payload))
    log.append(three[:1])
    files.fail(Call.WRITE, nth=nth, reason=errno.ENOSPC)

    attempts = 0
    while log.end_offset < 3:
        attempts += 1
        try:
            log.append([each for each in three if each.header.base_offset >= log.end_offset])
        except DiskFullError:
            continue

    assert attempts == 2
    log.close()
    assert content(open_log(files)) == three


@pytest.mark.rule("LOG-27")
@pytest.mark.parametrize("nth", range(1, 5))
def test_truncation_without_room_changes_nothing_and_may_be_repeated(nth: int) -> None:
    files = MemoryFiles()
    directory = open_directory(files)
    directory.append([batch(0), batch(1, epoch=2), batch(2, epoch=3)])
    directory.flush()
    directory.write_checkpoints()
    files.fail(Call.CREATE, nth=nth, reason=errno.ENOSPC)

    try:
        directory.truncate(Offset(1))
    except DiskFullError:
        assert content(directory.log) == [batch(0), batch(1, epoch=2), batch(2, epoch=3)]
        directory.truncate(Offset(1))

    assert content(directory.log) == [batch(0)]
    directory.append([batch(1, epoch=4)])
    directory.close()
    reopened = open_directory(files)
    assert content(reopened.log) == [batch(0), batch(1, epoch=4)]
    assert [each.epoch for each in reopened.log.epochs] == [1, 4]


def appended(files: MemoryFiles) -> ReplicaDirectory:
    directory = open_directory(files)
    directory.append([batch(0)])
    return directory


@pytest.mark.rule("LOG-27", "LOG-18")
def test_checkpoints_without_room_are_written_later() -> None:
    files = MemoryFiles()
    directory = appended(files)
    directory.flush()
    files.take_all_room()

    is_complete = directory.write_checkpoints()
    is_written = files.exists("log-0/recovery-point-offset-checkpoint")
    files.fill(None)
    directory.note_committed(Offset(1))

    assert (is_complete, is_written) == (False, False)
    assert directory.write_checkpoints()
    assert files.read("log-0/recovery-point-offset-checkpoint").endswith(b" 0 1\n")


@pytest.mark.rule("LOG-27", "LOG-10")
def test_epochs_without_room_do_not_delay_the_flush() -> None:
    files = MemoryFiles()
    directory = appended(files)
    files.take_all_room()

    end_offset = directory.flush()
    files.fill(None)
    early = read_epochs(files, f"log-0/{EPOCH_CHECKPOINT_NAME}")
    directory.write_checkpoints()

    assert (end_offset, early) == (1, ())
    assert read_epochs(files, f"log-0/{EPOCH_CHECKPOINT_NAME}") == directory.log.epochs


@pytest.mark.rule("LOG-27")
def test_index_entry_without_room_is_written_with_a_later_one() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append(batches([1] * 4, value=b"x" * 3000))
    files.fail(Call.WRITE, nth=2, reason=errno.ENOSPC, written_bytes=3)
    log.append(batches([1] * 2, start=4, value=b"x" * 3000))

    log.append(batches([1] * 4, start=6, value=b"x" * 3000))
    log.close()

    index = files.read(f"{DIRECTORY}/{0:020d}.index")
    files.lose(f"{DIRECTORY}/{0:020d}.index")
    open_log(files).close()
    assert index == files.read(f"{DIRECTORY}/{0:020d}.index")


@pytest.mark.rule("LOG-27", "TXN-9")
@pytest.mark.parametrize("call", [Call.CREATE, Call.WRITE])
def test_aborted_transaction_without_room_waits_for_its_entry(call: Call) -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append([batch(0)])
    aborted = AbortedTransaction(
        producer_id=7, first_offset=Offset(0), last_offset=Offset(1), last_stable_offset=Offset(0)
    )
    files.fail(call, nth=1 if call is Call.CREATE else 2, reason=errno.ENOSPC, written_bytes=3)

    with pytest.raises(DiskFullError):
        log.append([batch(1)], [aborted])
    log.append([])

    assert log.end_offset == 2
    assert len(files.read(f"{DIRECTORY}/{0:020d}.txnindex")) == 34


@pytest.mark.rule("LOG-27", "STATE-4")
@pytest.mark.parametrize("call", [Call.CREATE, Call.WRITE, Call.FLUSH, Call.RENAME])
def test_small_file_keeps_its_content_without_room(call: Call) -> None:
    files = MemoryFiles()
    replace_file(files, "name", b"old")
    files.fail(call, reason=errno.ENOSPC)

    with pytest.raises(DiskFullError):
        replace_file(files, "name", b"new")

    assert (files.read("name"), files.exists("name.tmp")) == (b"old", False)
    replace_file(files, "name", b"new")
    assert files.read("name") == b"new"


@pytest.mark.rule("LOG-27", "LOG-17")
def test_flush_of_a_folder_without_room_is_final() -> None:
    files = MemoryFiles()
    files.fail(Call.SYNC_DIRECTORY, reason=errno.ENOSPC)

    with pytest.raises(StorageError) as failure:
        replace_file(files, "name", b"new")

    assert not isinstance(failure.value, DiskFullError)


@pytest.mark.rule("LOG-27", "STATE-5")
def test_election_state_takes_the_room_of_the_spare_file() -> None:
    files = MemoryFiles()
    file = ElectionStateFile(files, "quorum-state")
    file.write(ElectionState(epoch=Epoch(1)))
    file.keep_spare()
    files.take_all_room()

    stored = 1
    with suppress(DiskFullError):
        while stored < 100:
            file.write(ElectionState(epoch=Epoch(stored + 1)))
            stored += 1
    file.keep_spare()

    assert 1 < stored < 100
    assert (file.read().epoch, files.exists("quorum-state.spare")) == (stored, False)
    files.fill(None)
    file.keep_spare()
    assert files.exists("quorum-state.spare")


@pytest.mark.rule("LOG-27")
def test_close_without_room_loses_nothing() -> None:
    files = MemoryFiles()
    directory = appended(files)
    files.take_all_room()

    directory.close()
    files.fill(None)

    assert content(open_directory(files).log) == [batch(0)]


@pytest.mark.parametrize(
    ("before", "after", "calls"),
    [
        pytest.param(b"abc", b"abc", {}, id="equal"),
        pytest.param(b"abc", b"ab", {Call.TRUNCATE: 1}, id="longer"),
        pytest.param(b"ab", b"abc", {Call.WRITE: 1}, id="shorter"),
        pytest.param(b"xyz", b"abc", {Call.CREATE: 1, Call.WRITE: 1}, id="different"),
        pytest.param(None, b"abc", {Call.CREATE: 1, Call.WRITE: 1}, id="missing"),
    ],
)
def test_file_is_made_equal_with_as_few_writes_as_possible(
    before: bytes | None, after: bytes, calls: dict[Call, int]
) -> None:
    files = MemoryFiles()
    if before is not None:
        files.put("name", before)

    made_equal(files, "name", after).close()

    assert (files.read("name"), dict(files.calls)) == (after, calls)


@pytest.mark.rule("LOG-27")
def test_full_device_of_this_machine_is_a_lack_of_room() -> None:
    device = Path("/dev/full")
    if not device.exists():
        pytest.skip("this system has no /dev/full")
    file = DiskFiles("/dev").open("full")

    with pytest.raises(DiskFullError, match="cannot write /dev/full: No space left on device"):
        file.append(b"x")
    file.close()


@pytest.mark.rule("LOG-27", "FETCH-23")
@pytest.mark.parametrize("written_bytes", [0, 20])
def test_piece_of_a_snapshot_without_room_leaves_no_part_and_may_be_repeated(written_bytes: int) -> None:
    files = MemoryFiles()
    directory = open_directory(files)
    snapshot = OffsetAndEpoch(offset=Offset(500), epoch=Epoch(3))
    whole = snapshot_bytes(snapshot)
    directory.store_snapshot_piece(snapshot, 0, whole[:70])
    files.fail(Call.WRITE, reason=errno.ENOSPC, written_bytes=written_bytes)

    with pytest.raises(DiskFullError, match="cannot write"):
        directory.store_snapshot_piece(snapshot, 70, whole[70:])
    directory.store_snapshot_piece(snapshot, 70, whole[70:])

    assert directory.check_snapshot(snapshot) is not None


@pytest.mark.rule("LOG-27")
def test_epochs_that_a_start_has_no_room_for_are_written_by_a_later_one() -> None:
    files = MemoryFiles()
    epochs = (EpochStart(epoch=Epoch(1), start_offset=Offset(0)), EpochStart(epoch=Epoch(2), start_offset=Offset(5)))
    files.fail(Call.CREATE, reason=errno.ENOSPC)

    assert not mend_epochs(files, EPOCH_CHECKPOINT_NAME, epochs)
    assert mend_epochs(files, EPOCH_CHECKPOINT_NAME, epochs)

    assert read_epochs(files, EPOCH_CHECKPOINT_NAME) == epochs


@pytest.mark.rule("LOG-27", "LOG-25")
@pytest.mark.parametrize("call", [Call.CREATE, Call.WRITE])
@pytest.mark.parametrize("nth", range(1, 14))
def test_full_segment_without_room_for_its_indexes_is_sealed_later(call: Call, nth: int) -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=6000)
    written = batches([1] * 9, value=b"x" * 1500)
    files.fail(call, nth=nth, reason=errno.ENOSPC)
    for each in written:
        with suppress(DiskFullError):
            log.append([each])
        if log.end_offset == each.header.base_offset:
            log.append([each])

    log.close()

    assert content(open_log(files, segment_bytes=6000)) == written
