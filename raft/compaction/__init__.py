"""Makes snapshots of the log (cleanup.policy=compact or delete), beside the node that writes it.

`make_snapshot` reads the newest snapshot and the segments after it, which do not change any more, and writes the next
snapshot. It uses the files alone, so a child process runs it in a node, and the simulator between two events.

Source: KIP-630; Kafka Cleaner, for what is kept of each key.
"""

from raft.compaction.snapshot_maker import SnapshotOrder, make_snapshot

__all__ = ["SnapshotOrder", "make_snapshot"]
