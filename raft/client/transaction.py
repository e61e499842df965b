"""Appends records that become visible together, or not at all."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from raft.client.blocking import Client
from raft.client.part import Part
from raft.client.record_group import RecordGroup, encoded
from raft.errors import RaftError, RequestError
from raft.records.control import write_commit_batch
from raft.records.record import NO_TIMESTAMP_MS, Record, RecordHeader
from raft.types import WriteCommit
from raft.wire.features import WRITES_LEVEL
from raft.writers import WriteKey


class Transaction:
    """Records that become visible together when the `with` block ends, and not at all if it ends with an error.

        with producer.transaction() as transaction:
            transaction.append(b"debit", key=b"a")
            transaction.append(b"credit", key=b"b")

    Records are sent while the block runs, so a transaction may have any size. Readers of the log wait for the end of
    a transaction whose records were sent, at most for the nodes' `transaction.max.timeout.ms`; then it is aborted.

    With a key of its own a transaction happens once, however often it is repeated: a program that has crashed repeats
    it with the same key and the same records, and if the log has them, nothing is appended.

    If the end of the block raises `QuorumUnavailableError`, it is unknown whether the records are committed, unless the
    transaction is repeated with its key.

    Args:
        client: of the quorum. Nothing else uses it meanwhile.
        key: of the transaction: the lasting name of a writer, and a version that rises with each of its transactions.
        batch_bytes: up to how many bytes of records go into a batch.

    Attributes:
        key: see there.
        is_superseded: after the end of the block, whether the log has a later version of the writer: then nothing was
            appended, because this version was before.
    """

    def __init__(self, client: Client, key: WriteKey, *, batch_bytes: int) -> None:
        self.key = key
        self.is_superseded = False
        self._client = client
        self._group = RecordGroup(batch_bytes)
        self._part: Part | None = None
        self._is_open = False

    def __enter__(self) -> Self:
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        if error is not None:
            self._abort()
            return
        try:
            self._commit()
        except RequestError:
            self._abort()
            raise

    def append(
        self,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Iterable[RecordHeader] = (),
        timestamp_ms: int | None = None,
    ) -> None:
        """Append one record, which is not visible yet.

        Args:
            value: None deletes the key in a compacted log.
            key: None for none.
            headers: of the record.
            timestamp_ms: since 1970, UTC; None for the present time.

        Raises:
            RequestError, QuorumUnavailableError: the records before it are too large or cannot be sent; the transaction
                is over.
            RuntimeError: outside of its `with` block.
        """
        time_ms = NO_TIMESTAMP_MS if timestamp_ms is None else timestamp_ms
        self.append_all((Record(key=key, value=value, headers=tuple(headers), timestamp_ms=time_ms),))

    def append_all(self, records: Iterable[Record]) -> None:
        """Append records in this order. Their offsets are ignored, and they have the present time if they have none.

        Raises:
            RequestError, QuorumUnavailableError, RuntimeError: see `append`.
        """
        if not self._is_open:
            raise RuntimeError("this transaction is not open: append within its `with` block")
        for record in records:
            if full := self._group.add(record):
                self._send_part(full)

    def _send_part(self, records: list[Record]) -> None:
        """Append records, which become visible with the commit."""
        if self._part is None:
            self._require_our_nodes()
            self._part = Part(self._client, self.key.write_id)
        self._part.append(
            lambda producer_id, base_sequence: encoded(
                records,
                self._client.settings,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=base_sequence,
                is_transactional=True,
            )
        )

    def _commit(self) -> None:
        key = self.key
        if self._part is None:
            if not self._group:
                return
            self._require_our_nodes()
            batch = encoded(
                self._group.take(),
                self._client.settings,
                producer_id=key.producer_id,
                producer_epoch=key.producer_epoch,
                base_sequence=key.base_sequence,
            )
        else:
            if self._group:
                self._send_part(self._group.take())
            batch = write_commit_batch(
                WriteCommit(parts=(self._part.part,)),
                producer_id=key.producer_id,
                producer_epoch=key.producer_epoch,
                base_sequence=key.base_sequence,
                timestamp_ms=int(time.time() * 1000),
            )
        self.is_superseded = self._client.append(batch).is_superseded

    def _abort(self) -> None:
        """Abort what was sent, so that readers need not wait for it."""
        if self._part is not None:
            with contextlib.suppress(RaftError):  # The leader aborts it in time.
                self._client.abort_write(self.key.write_id)

    def _require_our_nodes(self) -> None:
        if self._client.feature_level() < WRITES_LEVEL:
            raise RaftError(
                f"cluster {self._client.cluster_id} has no transactions of this kind: expected nodes of kraft-spark "
                "that recognize repeated writes; nothing was appended"
            )
