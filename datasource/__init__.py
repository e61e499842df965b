"""The PySpark data source "kraft": reads and writes, as streams and as batches.

options        the options of users, checked
offsets        the offsets in a checkpoint
schema         the columns of reads and writes
read_plan      the offsets of a read, and its tasks
range_reader   the records of a range as Arrow, on executors
view_range, view_reader    the tasks of view=latest, and the newest record of each key as Arrow
write_commit   the rows of a write as one append, from executors to the leader
stream_reader, batch_reader, stream_writer, batch_writer    the interfaces that Spark calls

Spark starts a Python process for each kind of step: to find a source, to create it, to plan a read, a write or the
batches of a stream, to run tasks, to commit. Most of them handle no records. So `range_reader`, `view_reader` and
`write_commit`, which import the column kernels and Arrow's compute functions, are imported where they are called.
"""

from datasource.source import KraftDataSource

__all__ = ["KraftDataSource"]
