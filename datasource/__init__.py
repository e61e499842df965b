"""The PySpark data source "kraft": streams and batches, in and out.

options        what users write, checked
offsets        the offsets in a checkpoint
schema         columns read and written
planning       which offsets a batch reads
reading        records of a range, as Arrow, on executors
writing        rows of a write, as one append, from executors to the leader
stream_reader, batch_reader, stream_writer, batch_writer    what Spark calls
"""

from datasource.source import KraftDataSource

__all__ = ["KraftDataSource"]
