"""The errors of raft, as a tree, and Kafka's error codes by name.

    RaftError
      ConfigError              a configuration key, value or directory that cannot be used
      ProtocolError            (abstract)
        LocalProtocolError     this side violated the protocol
        RemoteProtocolError    the other side violated the protocol
          DecodeError          bytes that are not a message, batch or file
            DecompressedTooLargeError  records that are larger than allowed once they are decompressed
      AuthenticationError      a name was not proved, or a node's certificate is not accepted
      RequestError             a request was refused; has Kafka's error code
        AuthorizationError     the client has no right to it
        MessageTooLargeError   a batch is larger than the nodes accept
        InvalidTimestampError  a record has a timestamp that the nodes do not accept
        OutOfOrderSequenceError a batch of a producer that the nodes do not know
        DuplicateResourceError another write has the same write key
        SnapshotNotFoundError  the node has another snapshot now
        OffsetOutOfRangeError  has the range of the log
        DamagedRecordsError    a node cannot read the records from its disk
      StorageError             the disk returned an error, or a file is malformed
        CorruptBatchError      a damaged batch; has file and position
        DiskFullError          the disk has no room for a write, which may be tried again
      NodeHaltedError          a node stopped itself
      NativeLibraryError       the library in C cannot be loaded; an ImportError too
      QuorumUnavailableError   no response in time
        LowerEpochError        the leader has a lower epoch than one that was seen before
        QuorumUnreachableError no node can be connected to

If the core refuses a request, that is an effect with an error code, not an exception.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum


class ErrorCode(IntEnum):
    """Kafka's error codes that this project sends, handles or prints by name. Other codes are numbers."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    MESSAGE_TOO_LARGE = 10
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    TOPIC_AUTHORIZATION_FAILED = 29
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    STORAGE_ERROR = 56
    SASL_AUTHENTICATION_FAILED = 58
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    OFFSET_NOT_AVAILABLE = 78
    INVALID_RECORD = 87
    PRODUCER_FENCED = 90
    DUPLICATE_RESOURCE = 92
    INCONSISTENT_VOTER_SET = 94
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    INVALID_VOTER_KEY = 125


def error_name(code: int) -> str:
    """Return the name of an error code; "error" and its number for an unknown code."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


CONNECT_ERRORS = (OSError, ValueError, OverflowError)
"""Errors of a connection that cannot be opened, or breaks. Python raises ValueError for an impossible host name and
OverflowError for an impossible port, and a message can have both."""


class RaftError(Exception):
    """Base of all errors that raft raises on purpose."""


class ConfigError(RaftError):
    """A configuration key, value or directory cannot be used; says which, and what is expected."""


class NativeLibraryError(RaftError, ImportError):
    """The library in C cannot be loaded, so nothing that reads records can be imported."""


class ProtocolError(RaftError):
    """One side violated the protocol."""


class LocalProtocolError(ProtocolError):
    """This side violated the protocol."""


class RemoteProtocolError(ProtocolError):
    """The other side violated the protocol."""


class DecodeError(RemoteProtocolError):
    """Bytes are malformed, incomplete or of an unknown version."""


class DecompressedTooLargeError(DecodeError):
    """Decompressed bytes exceed their limit."""


class AuthenticationError(RaftError):
    """One side of a connection has not proved to the other side who it is; a retry does not help."""


class RequestError(RaftError):
    """A request was refused.

    Args:
        code: Kafka's error code.
        message: what was requested, and why it was refused.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class AuthorizationError(RequestError):
    """The client has no right to what it requested."""


class MessageTooLargeError(RequestError):
    """A batch is larger than the nodes accept (message.max.bytes), or than this client sends."""


class InvalidTimestampError(RequestError):
    """A record has a timestamp that the nodes do not accept."""


class OutOfOrderSequenceError(RequestError):
    """A batch does not follow the last one that the nodes know of its producer; or they do not know the producer."""


class DuplicateResourceError(RequestError):
    """The log has another write with the same write key."""


class SnapshotNotFoundError(RequestError):
    """The node does not have this part of the snapshot; it may have a newer snapshot."""


class OffsetOutOfRangeError(RequestError):
    """The requested offset is not in the log.

    Args:
        message: the offset, and the range of the log.
        log_start_offset: first offset in the log.
        high_watermark: end of the committed records; None while unknown.
    """

    def __init__(self, message: str, *, log_start_offset: int, high_watermark: int | None) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        self.log_start_offset = log_start_offset
        self.high_watermark = high_watermark


class DamagedRecordsError(RequestError):
    """A node cannot read the requested records from its disk; another one may have them.

    Args:
        offset: of the first record that was requested.
    """

    def __init__(self, offset: int) -> None:
        super().__init__(
            ErrorCode.STORAGE_ERROR,
            f"the records from offset {offset} on are damaged on the disk of the node",
        )


_NAMED: dict[int, type[RequestError]] = {
    ErrorCode.MESSAGE_TOO_LARGE: MessageTooLargeError,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: AuthorizationError,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: AuthorizationError,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: AuthorizationError,
    ErrorCode.INVALID_TIMESTAMP: InvalidTimestampError,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: OutOfOrderSequenceError,
    ErrorCode.DUPLICATE_RESOURCE: DuplicateResourceError,
    ErrorCode.SNAPSHOT_NOT_FOUND: SnapshotNotFoundError,
    ErrorCode.POSITION_OUT_OF_RANGE: SnapshotNotFoundError,
}


def refusal(code: int, message: str) -> RequestError:
    """Return the error for a refused request: of the class for its code, if there is one.

    Args:
        code: Kafka's error code.
        message: what was requested, and why it was refused.
    """
    return _NAMED.get(code, RequestError)(code, message)


class StorageError(RaftError):
    """The disk returned an error, or a file is malformed. The node stops; the rest of the quorum goes on."""


class DiskFullError(StorageError):
    """The disk, or the quota, had no room for what a call would have written. The call may be repeated (LOG-27)."""


class CorruptBatchError(StorageError):
    """A batch is damaged, by its checksum, length or offset; has file and position.

    Args:
        message: what is damaged, and how.
        path: of the file; None if it is not one file.
        position: of the batch in it; None if it is not known, or the file has no batches.
    """

    def __init__(self, message: str, *, path: str | None = None, position: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.position = position


class NodeHaltedError(RaftError):
    """A node stopped itself, because it could violate a guarantee of the quorum."""


class QuorumUnavailableError(RaftError):
    """No node responded in time, or none knew a leader."""


class QuorumUnreachableError(QuorumUnavailableError):
    """No node can be connected to, by a client that has never had a response of a leader.

    Args:
        message: which nodes were tried, and what each answered.
        hosts: their names or addresses.
    """

    def __init__(self, message: str, *, hosts: Collection[str]) -> None:
        super().__init__(message)
        self.hosts = tuple(hosts)


class LowerEpochError(QuorumUnavailableError):
    """The only leader that was found has a lower epoch than one that was seen before.

    Epochs never fall: the log was replaced, or the nodes that can be reached are partitioned from the others.
    """
