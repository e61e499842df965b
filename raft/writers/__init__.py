"""The last writes of each writer, by which a repeated append is recognised and not written twice.

Three kinds of writers share the producer fields of a batch's header. Ids below 2^61 are Kafka's producers; ids from
2^62 on are keys of keyed writes, such as (query id, batch id) of a streaming query. Those between are parts of
multipart writes, see `raft.transactions`.
"""

from raft.writers.expiry import WriterExpiry
from raft.writers.keys import PARTS_OF_A_WRITE, WriteId, WriteKey, is_of_part, is_part, is_reserved, tag_of
from raft.writers.table import Accepted, Refused, Repeated, Verdict, WriterTable, judge_idempotent_produce
from raft.writers.written import SEQUENCES, History, TableImage, Written

__all__ = [
    "PARTS_OF_A_WRITE",
    "SEQUENCES",
    "Accepted",
    "History",
    "Refused",
    "Repeated",
    "TableImage",
    "Verdict",
    "WriteId",
    "WriteKey",
    "WriterExpiry",
    "WriterTable",
    "Written",
    "is_of_part",
    "is_part",
    "is_reserved",
    "judge_idempotent_produce",
    "tag_of",
]
