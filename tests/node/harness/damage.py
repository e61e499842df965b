"""Damage of a file on the disk, while a node runs."""

from __future__ import annotations

from pathlib import Path


def flip_bit(path: Path, position: int) -> None:
    """Change a bit of the byte at `position`."""
    with path.open("r+b") as file:
        file.seek(position)
        (byte,) = file.read(1)
        file.seek(position)
        file.write(bytes([byte ^ 0x10]))
