"""The last writes of each writer, by which a repeated append is recognised and not written twice.

Two kinds of writers share the producer fields of a batch's header. Ids below 2^62 are Kafka's idempotent producers;
ids from 2^62 on are keys of keyed writes, such as (query id, batch id) of a streaming query.
"""

from raft.writers.expiry import WriterExpiry
from raft.writers.keys import WriteKey
from raft.writers.table import Accepted, Refused, Repeated, Verdict, WriterTable
from raft.writers.written import History, TableImage, Written

__all__ = [
    "Accepted",
    "History",
    "Refused",
    "Repeated",
    "TableImage",
    "Verdict",
    "WriteKey",
    "WriterExpiry",
    "WriterTable",
    "Written",
]
