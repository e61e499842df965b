"""The errors of msgpack values. They are also of type ValueError."""

from __future__ import annotations

from raft.errors import ConfigError, RaftError


class SchemaError(ConfigError, ValueError):
    """A type, a mode or an option cannot be used with msgpack; says which, and what is expected."""


class MalformedValueError(RaftError, ValueError):
    """Bytes are not msgpack or do not fit the schema; names the field, what was found and what is expected."""


class UnpackableValueError(RaftError, ValueError):
    """A value, or a batch of values, has no form in msgpack; names the field."""
