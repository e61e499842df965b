"""The errors of raft, as a tree, and Kafka's error codes by name.

    RaftError
      ConfigError              a configuration key, value or directory that cannot be used
      ProtocolError            (abstract)
        LocalProtocolError     we used the protocol wrongly
        RemoteProtocolError    the other side did
          DecodeError          bytes that are no message, batch or file of ours
      RequestError             a request was refused; carries Kafka's code
        OffsetOutOfRangeError  with the range that there is
      StorageError             the disk refused or lied
        CorruptBatchError      a damaged batch, with file and position
      NodeHaltedError          a node stopped itself, to do no harm
      QuorumUnavailableError   no answer within the time allowed
        LowerEpochError        only from a leader older than one that was seen before

A refusal inside the core is an effect with an error code, never an exception.
"""

from __future__ import annotations

from enum import IntEnum


class ErrorCode(IntEnum):
    """Kafka's error codes that this project sends, reacts to or knows by name. Others stay plain numbers."""

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
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    STORAGE_ERROR = 56
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    OFFSET_NOT_AVAILABLE = 78
    INVALID_RECORD = 87
    DUPLICATE_RESOURCE = 92
    INCONSISTENT_VOTER_SET = 94
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    INCONSISTENT_CLUSTER_ID = 104
    INVALID_VOTER_KEY = 125


def error_name(code: int) -> str:
    """Name of a code in words an operator can look up; unknown codes keep their number."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


CONNECT_ERRORS = (OSError, ValueError, OverflowError)
"""What comes of a connection that cannot be opened or breaks. ValueError (as UnicodeError, or for a NUL) and
OverflowError are what Python makes of a host name and of a port that cannot be; messages have room for both."""


class RaftError(Exception):
    """Base of every error that raft raises on purpose."""


class ConfigError(RaftError):
    """A configuration key, value or directory that cannot be used; says which, and what is allowed."""


class ProtocolError(RaftError):
    """The protocol was broken; see the two children for by whom."""


class LocalProtocolError(ProtocolError):
    """This side used the protocol wrongly."""


class RemoteProtocolError(ProtocolError):
    """The other side broke the protocol."""


class DecodeError(RemoteProtocolError):
    """Bytes that are not what they should be: cut short, out of bounds, or of an unknown form."""


class DecompressedTooLargeError(DecodeError):
    """More bytes come out of compressed ones than are allowed."""


class RequestError(RaftError):
    """A request was refused.

    Args:
        code: Kafka's error code.
        message: what was asked and why it was refused.
        retriable: whether the same request may succeed later, as it is.
    """

    def __init__(self, code: int, message: str, *, retriable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retriable = retriable


class OffsetOutOfRangeError(RequestError):
    """The offset asked for is not in the log.

    Args:
        message: which one, and what there is.
        log_start_offset: first offset in the log.
        high_watermark: end of what is committed; None while unknown.
    """

    def __init__(self, message: str, *, log_start_offset: int, high_watermark: int | None) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        self.log_start_offset = log_start_offset
        self.high_watermark = high_watermark


class StorageError(RaftError):
    """The disk refused or lied. The node that meets it stops; the rest of the quorum goes on."""


class CorruptBatchError(StorageError):
    """A batch that its checksum or length gives away, with file and position."""


class NodeHaltedError(RaftError):
    """A node stopped itself, because to go on could break what the quorum promised."""


class QuorumUnavailableError(RaftError):
    """No node answered, or no leader was found, within the time allowed."""


class LowerEpochError(QuorumUnavailableError):
    """The only leader to be found has a lower epoch than one that was seen before.

    Epochs never fall: the log was replaced, or the nodes that can be reached are cut off from the others.
    """
