"""A damaged or incomplete backup is refused, and the damage is named."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from raft.backup import verify_backup
from raft.backup.checks import BackupCheck
from raft.errors import DecodeError, StorageError
from raft.records.batches import read_headers
from raft.records.header_fields import LENGTH_END
from raft.types import LARGEST_BATCH_BYTES


def places(backup: Path) -> list[tuple[str, int, int]]:
    with tarfile.open(backup) as tar:
        return [(member.name, member.offset_data, member.size) for member in tar]


def damaged(backup: Path, target: Path, at: int, value: int | None = None) -> Path:
    content = bytearray(backup.read_bytes())
    content[at] = content[at] ^ 0x5A if value is None else value
    target.write_bytes(content)
    return target


def test_damage_of_a_batch_is_named_by_member_and_byte(small: Path, tmp_path: Path) -> None:
    name, begin, size = places(small)[1]
    path = damaged(small, tmp_path / "damaged.tar", begin + size - 1)

    with pytest.raises(StorageError) as refused:
        verify_backup(path)

    with tarfile.open(small) as tar:
        content = tar.extractfile(name).read()  # type: ignore[union-attr]
    last_batch = size - list(read_headers(content))[-1].size_bytes
    assert str(refused.value).startswith(f"{path}: member {name} is damaged at byte {last_batch}: ")


def test_damage_of_a_snapshot_is_named_by_member_and_byte(compacted: Path, tmp_path: Path) -> None:
    name, begin, size = places(compacted)[0]
    assert name.endswith(".checkpoint")
    path = damaged(compacted, tmp_path / "damaged.tar", begin + size // 2)

    with pytest.raises(StorageError) as refused:
        verify_backup(path)

    assert str(refused.value).startswith(f"{path}: member {name} is damaged at byte ")
    byte = int(str(refused.value).split("at byte ")[1].split(":")[0])
    assert 0 < byte <= size // 2


def test_every_changed_byte_of_every_member_is_found(small: Path, tmp_path: Path) -> None:
    for name, begin, size in places(small):
        for at in range(begin, begin + size, 7):
            path = damaged(small, tmp_path / "damaged.tar", at)
            with pytest.raises(StorageError, match=name):
                verify_backup(path)


def test_backup_that_ends_early_is_refused_at_every_length(small: Path, tmp_path: Path) -> None:
    content = small.read_bytes()
    _name, begin, size = places(small)[-1]
    path = tmp_path / "short.tar"
    for length in [0, 1, 511, 512, 513, *range(600, begin + size, 97), begin + size - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(StorageError, match=str(path)):
            verify_backup(path)


def sparse_member(name: bytes, size: int) -> bytes:
    """A member in the form of GNU tar with a hole: one sector of content, and an announced size."""
    content = bytes(512)
    header = bytearray(512)
    header[: len(name)] = name
    header[100:136] = b"0000600\0" + b"0000000\0" * 2 + b"%011o\0" % len(content)
    header[136:148] = b"00000000000\0"
    header[156:157], header[257:265] = b"S", b"ustar  \0"
    header[386:434] = b"".join(b"%011o\0" % number for number in (0, len(content), size, 0))
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + content + bytes(1024)


def test_member_with_holes_is_refused_before_its_zeros_are_read(tmp_path: Path) -> None:
    """A file of two kilobytes would take as much memory as it announces."""
    path = tmp_path / "sparse.tar"
    path.write_bytes(sparse_member(b"00000000000000000000.log", 1 << 32))
    with tarfile.open(path) as tar:
        (member,) = tar.getmembers()
        assert member.isreg()
        assert member.size == 1 << 32

    with pytest.raises(StorageError, match=r"member 00000000000000000000\.log is no plain file, so this is no backup"):
        verify_backup(path)


def test_batch_that_is_larger_than_a_node_accepts_is_damage() -> None:
    """Its bytes would be collected, whatever they are."""
    check = BackupCheck()
    size = LARGEST_BATCH_BYTES + 1
    check.begin("00000000000000000000.log", size)

    with pytest.raises(DecodeError, match=f"^batch of {size} bytes, expected at most {LARGEST_BATCH_BYTES}$"):
        check.feed(bytes(8) + (size - LENGTH_END).to_bytes(4, "big") + bytes(4) + b"\2" + bytes(44))
