"""The PySpark data source "kraft": streams and batches, in and out.

options        what users write, checked
offsets        the offsets in a checkpoint
schema         columns read and written
planning       which offsets a batch reads
reading        records of a range, as Arrow, on executors
writing        rows of a write, as one append, from executors to the leader
stream_reader, batch_reader, stream_writer, batch_writer    what Spark calls

Spark starts a Python process for each kind of step: looking a source up, making it, planning a read or a write,
planning a stream's batches, tasks, commits. Most of them handle no records. So `reading` and `writing`, and with them
the column kernels and Arrow's compute functions, are imported where they are called.
"""

from datasource.source import KraftDataSource

__all__ = ["KraftDataSource"]
