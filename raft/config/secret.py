"""Texts that must not be printed, such as passwords, and how they are recognized."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SECRET = re.compile(r"password|secret|jaas|token|credential|private[._-]?key", re.IGNORECASE)
"""What the name of a key with a secret value contains."""

HIDDEN = "[hidden]"
"""What is printed in place of a secret, as in Kafka (ConfigDef.Type.PASSWORD)."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, or a text with references to where it is (see `raft.security.references`).

    Fields:
        text: the secret. No representation of the object contains it.
    """

    text: str = field(repr=False)

    def __repr__(self) -> str:
        return HIDDEN

    def __str__(self) -> str:
        return HIDDEN


def is_secret(key: str) -> bool:
    """Whether a value may be a secret, judging by the name of its key."""
    return _SECRET.search(key) is not None
