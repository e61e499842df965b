"""The two checkpoints in Kafka's text form: leader epochs and the recovery point."""

import threading

import pytest

from raft.errors import StorageError
from raft.storage.epoch_checkpoint import read_epochs, write_epochs
from raft.storage.files import Files
from raft.storage.recovery_point import RecoveryPoint
from raft.types import Epoch, EpochStart, Offset
from tests.memory_files.files import Call, MemoryFiles
from tests.storage.logs import crash_at_every_call


def epochs(*pairs: tuple[int, int]) -> tuple[EpochStart, ...]:
    return tuple(EpochStart(epoch=Epoch(epoch), start_offset=Offset(start)) for epoch, start in pairs)


def point(files: Files) -> RecoveryPoint:
    return RecoveryPoint(files, "recovery-point", topic="__cluster_metadata", partition=0)


@pytest.mark.rule("LOG-11")
def test_epochs_have_kafka_form_when_written(files: Files) -> None:
    write_epochs(files, "epochs", epochs((1, 0), (3, 117)))

    assert files.read("epochs") == b"0\n2\n1 0\n3 117\n"
    assert read_epochs(files, "epochs") == epochs((1, 0), (3, 117))


@pytest.mark.parametrize("content", [pytest.param(None, id="no file"), pytest.param(b"", id="Kafka's empty file")])
def test_epochs_are_none_when_nothing_was_written(content: bytes | None) -> None:
    files = MemoryFiles()
    if content is not None:
        files.put("epochs", content)

    assert read_epochs(files, "epochs") == ()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param("1\n0\n", "version '1'", id="other version"),
        pytest.param("0\n", "0 entries, but the second line says None", id="no count"),
        pytest.param("0\n2\n1 0\n", "1 entries, but the second line says 2", id="fewer than announced"),
        pytest.param("0\n1\n1 0\n2 5\n", "2 entries, but the second line says 1", id="more than announced"),
        pytest.param("0\n1\n1\n", "line '1' has 1 words, expected 2", id="a word missing"),
        pytest.param("0\n1\n1 0 0\n", "line '1 0 0' has 3 words, expected 2", id="a word too many"),
        pytest.param("0\n1\none 0\n", "'one' is not a number", id="a word for a number"),
        pytest.param("0\n1\n-1 0\n", "'-1' is not a number", id="negative"),
        pytest.param(f"0\n1\n{'9' * 5000} 0\n", "is not a number", id="longer than any"),
        pytest.param("0\n1\n1_0 0\n", "'1_0' is not a number", id="underscore"),
        pytest.param("0\n2\n2 0\n1 5\n", "does not rise", id="epoch falls"),
        pytest.param("0\n2\n1 5\n2 5\n", "does not rise", id="offset stays"),
    ],
)
@pytest.mark.rule("LOG-10", "LOG-11")
def test_epochs_are_refused_when_malformed(content: str, reason: str) -> None:
    files = MemoryFiles()
    files.put("epochs", content.encode())

    with pytest.raises(StorageError, match=f"memory:/epochs.*{reason}"):
        read_epochs(files, "epochs")


@pytest.mark.rule("LOG-11")
def test_epochs_are_old_or_new_when_the_power_fails_at_any_call() -> None:
    old, new = epochs((1, 0)), epochs((1, 0), (2, 5))

    for case, files in crash_at_every_call(
        lambda files: write_epochs(files, "epochs", old), lambda files: write_epochs(files, "epochs", new)
    ):
        assert read_epochs(files, "epochs") in (old, new), case


def test_recovery_point_has_kafka_form_when_written(files: Files) -> None:
    point(files).advance(Offset(1234))

    assert files.read("recovery-point") == b"0\n1\n__cluster_metadata 0 1234\n"
    assert point(files).offset == 1234


def test_recovery_point_is_0_when_there_is_no_file_or_no_entry_of_ours() -> None:
    files = MemoryFiles()
    assert point(files).offset == 0

    files.put("recovery-point", b"0\n2\nother 0 55\n__cluster_metadata 1 66\n")

    assert point(files).offset == 0


def test_recovery_point_is_refused_when_malformed() -> None:
    files = MemoryFiles()
    files.put("recovery-point", b"0\n1\n__cluster_metadata 0 many\n")

    with pytest.raises(StorageError, match="'many' is not a number"):
        point(files)


def test_recovery_point_only_rises_by_advance_and_only_falls_by_retreat() -> None:
    files = MemoryFiles()
    recovery = point(files)

    recovery.advance(Offset(100))
    recovery.advance(Offset(50))
    assert recovery.offset == 100
    recovery.retreat(Offset(200))
    assert recovery.offset == 100
    recovery.retreat(Offset(30))
    assert point(files).offset == 30


def test_recovery_point_is_not_written_again_when_it_stays() -> None:
    files = MemoryFiles()
    recovery = point(files)
    recovery.advance(Offset(100))
    calls = files.calls.total()

    recovery.advance(Offset(100))
    recovery.retreat(Offset(100))

    assert files.calls.total() == calls


def test_recovery_point_keeps_its_value_when_the_disk_refuses() -> None:
    files = MemoryFiles()
    recovery = point(files)
    files.fail(Call.FLUSH)

    with pytest.raises(StorageError):
        recovery.advance(Offset(100))

    assert recovery.offset == 0
    assert point(files).offset == 0


def test_recovery_point_is_whole_when_two_threads_write_it(files: Files) -> None:
    recovery = point(files)

    def move(first: int) -> None:
        for offset in range(first, 200, 2):
            recovery.advance(Offset(offset))
            recovery.retreat(Offset(offset // 2))

    threads = [threading.Thread(target=move, args=(first,)) for first in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert point(files).offset == recovery.offset
