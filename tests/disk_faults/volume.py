"""A file system of its own for one node, which can lose what was not flushed, as a host that loses power does."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.node.harness.waiting import eventually

_BYTES = 512 << 20
_SHUT_DOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN of the kernel's fs/ext4/ext4.h."""
_DROP_DIRTY_PAGES = struct.pack("I", 2)
"""EXT4_GOING_FLAGS_NOLOGFLUSH: neither data nor the journal reaches the disk any more."""


class Volume:
    """An ext4 file system in a file, mounted through a loop device; needs root.

    Args:
        folder: exists; gets the file and the mount point.
    """

    def __init__(self, folder: Path) -> None:
        self._image = folder / "volume.img"
        self.root = folder / "volume"
        self.root.mkdir()
        with self._image.open("wb") as image:
            image.truncate(_BYTES)
        _run("mkfs.ext4", "-q", "-F", str(self._image))
        self.mount()

    def mount(self) -> None:
        """Mount it, and let the kernel replay its journal."""
        _run("mount", "-o", "loop", str(self._image), str(self.root))

    def unmount(self) -> None:
        """Flush it and unmount it."""
        _run("umount", str(self.root))

    def lose_power(self) -> None:
        """Drop all writes that were not flushed. No process may use it any more; it is mounted again."""
        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _SHUT_DOWN, _DROP_DIRTY_PAGES)
        finally:
            os.close(descriptor)
        self.unmount()
        self.mount()


@contextmanager
def mounted_volumes(folders: Sequence[Path]) -> Iterator[list[Volume]]:
    """Make one volume in each folder; the end of the block unmounts them."""
    with ExitStack() as stack:
        volumes = []
        for folder in folders:
            folder.mkdir(parents=True)
            volumes.append(Volume(folder))
            stack.callback(_unmount, volumes[-1])
        yield volumes


def _unmount(volume: Volume) -> None:
    """Unmount it once nothing uses it any more: that may be a moment after its last process has ended."""

    def unmount() -> bool:
        with suppress(subprocess.CalledProcessError):
            volume.unmount()
        return not volume.root.is_mount()

    eventually(unmount, f"{volume.root} is unmounted")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
