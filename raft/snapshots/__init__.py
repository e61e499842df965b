"""Snapshots: files that replace the part of the log before their end offset (KIP-630).

    SNAPSHOT_HEADER       control batch: log time at the end of the snapshot
    epochs                a control batch for each epoch: the offset at which it begins
    writers               a control batch for each remembered batch of a writer: its producer id, epoch and sequence
    open transactions     an empty transactional batch for each, and a WRITE_COMMIT control batch for each commit that
                          lacks a marker; they end after the snapshot
    transactional ids     a TRANSACTIONAL_ID control batch for each
    records               under cleanup.policy=compact: the newest record of each key, at its own offset; else nothing
    SNAPSHOT_FOOTER       control batch: a file without it is incomplete

Kafka's nodes read such a file too, if there are no transactions: they skip the control batches before the records. A
snapshot of Kafka has KRAFT_VERSION and KRAFT_VOTERS records beside its header, and no state of writers.

Source: rules LOG-14 to LOG-16, SNAPSHOT-1 to SNAPSHOT-6; Kafka RecordsSnapshotWriter.
"""

from raft.snapshots.contents import SnapshotContents, SnapshotScan
from raft.snapshots.offset_index import SnapshotIndex
from raft.snapshots.state_batches import footer_batch, state_batches

__all__ = [
    "SnapshotContents",
    "SnapshotIndex",
    "SnapshotScan",
    "footer_batch",
    "state_batches",
]
