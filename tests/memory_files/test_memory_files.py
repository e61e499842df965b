"""The disk on a bad day: what is lost, what is kept, what fails, and that the same dice give the same bytes."""

import errno

import pytest

from raft.errors import StorageError
from tests.memory_files.files import Call, MemoryFiles, PowerCutError
from tests.storage.logs import dice


def with_file(content: bytes, *, then: bytes = b"") -> MemoryFiles:
    """A file that lasts, and bytes behind it that do not."""
    files = MemoryFiles()
    file = files.create("data")
    file.append(content)
    file.flush()
    files.sync_directory("")
    file.append(then)
    return files


def test_crash_keeps_what_was_flushed_and_nothing_else() -> None:
    files = with_file(b"flushed", then=b" not flushed")

    files.crash()

    assert files.read("data") == b"flushed"


def test_crash_keeps_a_part_of_the_rest_when_the_dice_say_so() -> None:
    found = set()
    for seed in range(200):
        files = with_file(b"flushed", then=b"12345")
        files.crash(dice(seed))
        found.add(files.read("data").removeprefix(b"flushed"))

    assert {b"", b"1", b"12", b"123", b"1234", b"12345"} <= found
    zeros = {data for data in found if data.endswith(b"\x00")}
    assert zeros
    assert all(b"12345".startswith(data.rstrip(b"\x00")) for data in zeros)


def test_crash_gives_the_same_bytes_when_the_dice_are_the_same() -> None:
    results = set()
    for _ in range(2):
        files = with_file(b"flushed", then=bytes(range(200)))
        files.crash(dice("same"))
        results.add(files.read("data"))

    assert len(results) == 1


def test_crash_brings_cut_bytes_back_when_the_cut_was_not_flushed() -> None:
    files = with_file(b"flushed")
    file = files.open("data")
    file.truncate(3)
    file.append(b"new")

    files.crash()

    assert files.read("data") == b"flushed"


def test_crash_may_keep_an_unflushed_cut_when_the_dice_say_so() -> None:
    found = set()
    for seed in range(100):
        files = with_file(b"flushed")
        file = files.open("data")
        file.truncate(5)
        file.truncate(3)
        file.append(b"NEW")
        files.crash(dice(seed))
        found.add(files.read("data").rstrip(b"\x00"))

    assert found == {b"flushed", b"flu", b"fluN", b"fluNE", b"fluNEW"}


def test_cut_lasts_when_flushed() -> None:
    files = with_file(b"flushed")
    file = files.open("data")
    file.truncate(3)
    file.flush()

    files.crash()

    assert files.read("data") == b"flu"


def test_crash_loses_names_when_the_folder_was_not_flushed() -> None:
    files = with_file(b"old")
    file = files.create("new")
    file.append(b"new")
    file.flush()
    files.rename("new", "data")
    files.create("other").close()

    files.crash()

    assert files.names_in("") == ["data"]
    assert files.read("data") == b"old"


def test_crash_keeps_the_first_changes_of_names_when_the_dice_say_so() -> None:
    found = set()
    for seed in range(100):
        files = MemoryFiles()
        for name in ("a", "b"):
            files.create(name).close()
        files.remove("a")
        files.crash(dice(seed))
        found.add(tuple(files.names_in("")))

    assert found == {(), ("a",), ("a", "b"), ("b",)}


def test_rename_lasts_whole_or_not_at_all() -> None:
    found = set()
    for seed in range(50):
        files = with_file(b"old")
        file = files.create("data.tmp")
        file.append(b"new")
        file.flush()
        files.sync_directory("")
        files.rename("data.tmp", "data")
        files.crash(dice(seed))
        found.add(tuple((name, files.read(name)) for name in files.names_in("")))

    assert found == {(("data", b"old"), ("data.tmp", b"new")), (("data", b"new"),)}


def test_removed_file_comes_back_when_the_folder_was_not_flushed() -> None:
    files = with_file(b"content")
    files.remove("data")

    files.crash()

    assert files.read("data") == b"content"


def test_kill_loses_nothing_but_ends_open_files_and_locks() -> None:
    files = with_file(b"flushed", then=b" and not")
    file = files.open("data")
    files.lock(".lock")

    files.kill()

    assert files.read("data") == b"flushed and not"
    with pytest.raises(PowerCutError, match="open before"):
        file.append(b"x")
    files.lock(".lock")
    files.crash()
    assert files.read("data") == b"flushed"


def test_power_cut_stops_everything_in_place_of_the_nth_call() -> None:
    files = MemoryFiles()
    files.cut_power_before(3)
    file = files.create("data")
    file.append(b"one")

    with pytest.raises(PowerCutError):
        file.append(b"two")
    with pytest.raises(PowerCutError):
        file.read(0, 3)
    with pytest.raises(PowerCutError):
        files.exists("data")

    files.kill()
    assert files.read("data") == b"one"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        pytest.param(errno.EIO, "Input/output error", id="EIO"),
        pytest.param(errno.ENOSPC, "No space left on device", id="ENOSPC"),
    ],
)
def test_nth_write_fails_as_on_a_disk_when_planted(reason: int, words: str) -> None:
    files = MemoryFiles()
    files.fail(Call.WRITE, nth=2, reason=reason, written_bytes=2)
    file = files.create("data")
    file.append(b"one")

    with pytest.raises(StorageError, match=f"cannot write memory:/data: {words}"):
        file.append(b"two")

    assert file.read(0, 9) == b"onetw"
    file.append(b"three")


def test_flush_fails_once_when_planted_and_flushes_nothing() -> None:
    files = with_file(b"flushed", then=b" not")
    files.fail(Call.FLUSH)
    file = files.open("data")

    with pytest.raises(StorageError, match="cannot flush"):
        file.flush()

    files.crash()
    assert files.read("data") == b"flushed"


def test_planted_faults_of_one_kind_all_come() -> None:
    files = MemoryFiles()
    files.fail(Call.CREATE, nth=1)
    files.fail(Call.CREATE, nth=2)

    failures = 0
    for name in "abc":
        try:
            files.create(name)
        except StorageError:
            failures += 1

    assert failures == 2
    assert files.calls[Call.CREATE] == 3


def test_operator_may_damage_place_and_lose_files() -> None:
    files = with_file(b"abc")

    files.flip_bit("data", 1, bit=3)
    files.put("other", b"placed")
    files.crash()

    assert files.read("data") == b"ajc"
    assert files.read("other") == b"placed"
    files.lose("data")
    assert files.names_in("") == ["other"]
