"""What a caller may be allowed to do."""

from __future__ import annotations

from enum import Enum


class Operation(Enum):
    """An operation, by its name in the file of rules."""

    READ = "read"
    """Read records, and find offsets."""
    APPEND = "append"
    """Append records, in transactions too."""
    DESCRIBE = "describe"
    """See the topic, the nodes, the state of the quorum and of transactions. READ, APPEND and PEER include it."""
    PEER = "peer"
    """Speak as a voter or an observer."""
