"""The index of aborted transactions of a segment, in memory and in the file `.txnindex`.

    size  field
    2     version              int16    0
    8     producer id          int64
    8     first offset         int64    of the transaction
    8     last offset          int64    of its ABORT marker, which lies in this segment
    8     last stable offset   int64    see `AbortedTransaction`

Entries are in the order of the markers. The file exists if there is an entry; it is flushed with the other indexes of a
full segment. In memory an entry takes 32 bytes: a client can abort many transactions of one record, each of which takes
about 150 bytes of the log.

Source: Kafka TransactionIndex, AbortedTxn.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence

from raft.errors import DecodeError, DiskFullError
from raft.storage.files import File, Files
from raft.storage.grown_file import made_equal
from raft.transactions import AbortedTransaction
from raft.types import Offset

ABORTED_SUFFIX = ".txnindex"

_ENTRY = struct.Struct(">hqqqq")
_VERSION = 0


def read_aborted(files: Files, name: str) -> list[AbortedTransaction]:
    """Return the entries of a file; none if it does not exist.

    Raises:
        DecodeError: its size is that of no index.
    """
    if not files.exists(name):
        return []
    content = files.read(name)
    if len(content) % _ENTRY.size:
        raise DecodeError(f"index has {len(content)} bytes, expected entries of {_ENTRY.size}")
    return [
        AbortedTransaction(
            producer_id=producer_id,
            first_offset=Offset(first_offset),
            last_offset=Offset(last_offset),
            last_stable_offset=Offset(stable_offset),
        )
        for _, producer_id, first_offset, last_offset, stable_offset in _ENTRY.iter_unpack(content)
    ]


class AbortedIndex:
    """The transactions whose ABORT marker lies in one segment.

    Args:
        files: where the file is.
        name: the `.txnindex` file.
    """

    def __init__(self, files: Files, name: str) -> None:
        self._files = files
        self._name = name
        self._producer_ids = array("q")
        self._first_offsets = array("q")
        self._last_offsets = array("q")
        self._stable_offsets = array("q")
        self._file: File | None = None
        self._is_attached = False

    @classmethod
    def read(cls, files: Files, name: str) -> AbortedIndex:
        """Return the index in a file; an empty one if there is no file.

        Raises:
            DecodeError: its size is that of no index.
        """
        index = cls(files, name)
        index.note(read_aborted(files, name))
        return index

    def __len__(self) -> int:
        return len(self._last_offsets)

    def note(self, aborted: Sequence[AbortedTransaction]) -> None:
        """Add the transactions whose markers were written, in order.

        Raises:
            DiskFullError: the disk has no room. Nothing is added, and the call may be repeated: a snapshot that is made
                from the files must not lack one of them.
        """
        if self._is_attached and aborted:
            self._write(b"".join(map(_to_bytes, aborted)))
        for each in aborted:
            self._producer_ids.append(each.producer_id)
            self._first_offsets.append(each.first_offset)
            self._last_offsets.append(each.last_offset)
            self._stable_offsets.append(each.last_stable_offset)

    def overlapping(
        self, start_offset: Offset, end_offset: Offset, producer_ids: Container[int] | None = None
    ) -> tuple[list[AbortedTransaction], bool]:
        """Return the transactions with records or a marker in a range.

        Args:
            start_offset: start of the range.
            end_offset: end of the range.
            producer_ids: only transactions of these producers; None for all.

        Returns:
            The transactions, and whether later segments can have more.

        Source: Kafka TransactionIndex.collectAbortedTxns.
        """
        begin = bisect_left(self._last_offsets, start_offset)
        # The last stable offset never falls from marker to marker.
        last = bisect_left(self._stable_offsets, end_offset, lo=begin)
        first_offsets = self._first_offsets
        places = range(begin, min(last + 1, len(self)))
        begun = (at for at in places if first_offsets[at] < end_offset)
        if producer_ids is not None:
            begun = (at for at in begun if self._producer_ids[at] in producer_ids)
        return [self._entry(at) for at in begun], last == len(self)

    def attach(self) -> None:
        """Write the entries to the file; later ones are added to it. Does nothing if that was done."""
        if self._is_attached:
            return
        content = self.to_bytes()
        if content:
            self._file = made_equal(self._files, self._name, content)
        else:
            self._files.remove(self._name)
        self._is_attached = True

    def truncate(self, end_offset: Offset) -> None:
        """Remove the transactions whose marker lies at `end_offset` or after it."""
        kept = bisect_left(self._last_offsets, end_offset)
        if kept == len(self):
            return
        for column in (self._producer_ids, self._first_offsets, self._last_offsets, self._stable_offsets):
            del column[kept:]
        if self._is_attached:
            self.close()
            self.attach()

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        return b"".join(map(_to_bytes, self._all()))

    def close(self) -> None:
        """Close the file."""
        self._is_attached = False
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """Close and remove the file."""
        self.close()
        self._files.remove(self._name)

    def _write(self, entries: bytes) -> None:
        if self._file is None:
            self._file = self._files.create(self._name)
        size_bytes = self._file.size_bytes
        try:
            self._file.append(entries)
        except DiskFullError:
            self._file.truncate(size_bytes)
            raise

    def _entry(self, at: int) -> AbortedTransaction:
        return AbortedTransaction(
            producer_id=self._producer_ids[at],
            first_offset=Offset(self._first_offsets[at]),
            last_offset=Offset(self._last_offsets[at]),
            last_stable_offset=Offset(self._stable_offsets[at]),
        )

    def _all(self) -> Iterator[AbortedTransaction]:
        return map(self._entry, range(len(self)))


def _to_bytes(aborted: AbortedTransaction) -> bytes:
    return _ENTRY.pack(
        _VERSION, aborted.producer_id, aborted.first_offset, aborted.last_offset, aborted.last_stable_offset
    )
