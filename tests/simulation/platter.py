"""A machine's files, and what a power cut would leave of them at this moment."""

from __future__ import annotations

from raft.storage.memory import MemoryFiles


class Platter(MemoryFiles):
    """Files in memory that also tell what of them is on the platter, without cutting the power to find out."""

    def has_survivor(self, name: str) -> bool:
        """Whether there would be a file of this name."""
        return name in self._files_on_disk

    def survivor(self, name: str) -> bytes:
        """What a file would hold; nothing that was not flushed is hoped for."""
        return bytes(self._files_on_disk[name].after_crash(None).data)

    def after_power_cut(self, name: str) -> MemoryFiles:
        """Return another disk with this one file, if it would be left, for those who read files."""
        files = MemoryFiles()
        if self.has_survivor(name):
            files.put(name, self.survivor(name))
        return files

    def keep_power(self) -> None:
        """Take back the power cut that was to come."""
        self._calls_until_power_cut = None
