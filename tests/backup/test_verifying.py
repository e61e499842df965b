"""A damaged or incomplete backup is refused, and the damage is named."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from raft.backup import verify_backup
from raft.errors import StorageError
from raft.records.split import walk_headers


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
    last_batch = size - list(walk_headers(content))[-1].size_bytes
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
