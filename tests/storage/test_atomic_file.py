import pytest

from raft.errors import StorageError
from raft.storage.atomic_file import replace_file
from tests.memory_files.files import Call, MemoryFiles
from tests.storage.logs import crash_at_every_call

OLD, NEW = b"the old content", b"the new content, which is longer"


def write_old(files: MemoryFiles) -> None:
    replace_file(files, "state", OLD)


def write_new(files: MemoryFiles) -> None:
    replace_file(files, "state", NEW)


@pytest.mark.rule("STATE-4")
def test_file_holds_old_or_new_when_the_power_fails_at_any_call() -> None:
    found = set()

    for case, files in crash_at_every_call(write_old, write_new):
        content = files.read("state")
        assert content in (OLD, NEW), case
        found.add(content)

    assert found == {OLD, NEW}


@pytest.mark.rule("STATE-4")
def test_file_is_whole_or_missing_when_the_power_fails_at_the_first_write() -> None:
    found = set()

    for case, files in crash_at_every_call(lambda files: None, write_new):
        content = files.read("state") if files.exists("state") else None
        assert content in (None, NEW), case
        found.add(content)

    assert found == {None, NEW}


@pytest.mark.rule("STATE-4")
def test_file_lasts_when_the_call_has_returned() -> None:
    files = MemoryFiles()
    write_new(files)

    files.crash()

    assert files.names_in("") == ["state"]
    assert files.read("state") == NEW


@pytest.mark.rule("STATE-4")
@pytest.mark.parametrize("call", [Call.CREATE, Call.WRITE, Call.FLUSH, Call.RENAME, Call.SYNC_DIRECTORY])
def test_no_temporary_file_is_left_when_the_disk_refuses(call: Call) -> None:
    files = MemoryFiles()
    write_old(files)
    files.fail(call)

    with pytest.raises(StorageError):
        write_new(files)

    assert files.names_in("") == ["state"]
    assert files.read("state") in (OLD, NEW)


def test_first_refusal_is_the_one_reported_when_the_cleaning_fails_too() -> None:
    files = MemoryFiles()
    files.fail(Call.FLUSH)
    files.fail(Call.REMOVE)

    with pytest.raises(StorageError, match="cannot flush"):
        write_new(files)


def test_leftover_of_a_crash_does_no_harm_when_the_file_is_written_again() -> None:
    files = MemoryFiles()
    files.put("state.tmp", b"x" * 500)

    write_new(files)

    assert files.read("state") == NEW
