"""A text that must not be printed, such as a password."""

from __future__ import annotations

from dataclasses import dataclass, field

from raft.config.values import HIDDEN


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
