"""What every implementation of the interface guarantees."""

import pytest

from raft.errors import ConfigError, StorageError
from raft.storage.files import DirectoryLockedError, Files


def test_file_holds_what_was_appended_when_read_anywhere(files: Files) -> None:
    file = files.create("data")
    file.append(b"hello ")
    file.append(b"world")

    assert file.size_bytes == 11
    assert file.read(0, 11) == b"hello world"
    assert file.read(6, 3) == b"wor"
    assert file.read(6, 100) == b"world"
    assert file.read(11, 5) == b""
    assert files.read("data") == b"hello world"
    file.close()


def test_file_grows_from_its_end_when_opened_again(files: Files) -> None:
    file = files.create("data")
    file.append(b"hello ")
    file.close()

    file = files.open("data")
    file.append(b"world")

    assert file.read(0, 100) == b"hello world"
    file.close()


def test_file_is_emptied_when_created_again(files: Files) -> None:
    file = files.create("data")
    file.append(b"old content")
    file.close()

    file = files.create("data")
    file.append(b"new")

    assert files.read("data") == b"new"
    file.close()


def test_file_grows_from_its_new_end_when_truncated(files: Files) -> None:
    file = files.create("data")
    file.append(b"hello world")

    file.truncate(5)
    file.append(b"!")
    file.flush()

    assert file.size_bytes == 6
    assert file.read(0, 100) == b"hello!"
    file.close()


def test_file_may_be_closed_twice(files: Files) -> None:
    file = files.create("data")

    file.close()
    file.close()


def test_names_are_listed_in_order_when_a_folder_has_some(files: Files) -> None:
    files.make_directory("folder/inner")
    for name in ("folder/b", "folder/a", "top"):
        files.create(name).close()

    assert files.names_in("folder") == ["a", "b", "inner"]
    assert files.names_in("") == ["folder", "top"]
    assert files.exists("folder/inner")
    assert files.exists("folder/a")
    assert not files.exists("folder/c")


def test_folder_may_be_made_twice(files: Files) -> None:
    files.make_directory("folder")
    files.make_directory("folder")

    assert files.names_in("folder") == []


def test_rename_replaces_the_target_when_there_is_one(files: Files) -> None:
    for name, text in (("new", b"new content"), ("name", b"old content")):
        file = files.create(name)
        file.append(text)
        file.close()

    files.rename("new", "name")
    files.sync_directory("")

    assert files.names_in("") == ["name"]
    assert files.read("name") == b"new content"


def test_remove_removes_a_file_and_does_nothing_when_there_is_none(files: Files) -> None:
    files.create("data").close()

    files.remove("data")
    files.remove("data")

    assert not files.exists("data")


@pytest.mark.parametrize(
    ("call", "word"),
    [
        pytest.param(lambda files: files.open("nowhere"), "open", id="open"),
        pytest.param(lambda files: files.read("nowhere"), "nowhere", id="read"),
        pytest.param(lambda files: files.create("no-folder/file"), "no-folder/file", id="create"),
        pytest.param(lambda files: files.names_in("no-folder"), "list", id="list"),
        pytest.param(lambda files: files.rename("nowhere", "there"), "nowhere", id="rename"),
    ],
)
def test_refusal_names_file_and_reason_when_something_is_missing(files: Files, call, word: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(StorageError, match=f"{word}.*No such file or directory"):
        call(files)


def test_lock_keeps_a_second_node_out_until_released(files: Files) -> None:
    lock = files.lock(".lock")

    with pytest.raises(DirectoryLockedError, match="in use"):
        files.lock(".lock")

    lock.release()
    lock.release()
    files.lock(".lock").release()


def test_lock_refusal_is_an_error_of_configuration() -> None:
    assert issubclass(DirectoryLockedError, ConfigError)
