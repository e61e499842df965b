"""Records that bound transactions of the controller (KIP-868): the records between count together, or not at all."""

from raft.codec import STRING, Message, field, message


@message(api_key=23, versions="0", flexible="0+")
class BeginTransactionRecord(Message):
    """A transaction begins.

    Fields:
        name: describes the transaction, or null.
    """

    name: str | None = field(STRING, nullable="0+", tag=0, default=None)


@message(api_key=24, versions="0", flexible="0+")
class EndTransactionRecord(Message):
    """The transaction ends: its records count."""


@message(api_key=25, versions="0", flexible="0+")
class AbortTransactionRecord(Message):
    """The transaction is aborted: its records do not count.

    Fields:
        reason: says why it was aborted, or null.
    """

    reason: str | None = field(STRING, nullable="0+", tag=0, default=None)
