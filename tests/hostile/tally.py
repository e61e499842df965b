"""What the neighbour did, counted by attack."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of one run.

    Fields:
        rounds: by attack: rounds that were begun.
        connections: that were opened.
        open_at_most: most of them that were open at one time.
        refused: that could not be opened.
        closed_by_node: rounds that ended because the node closed the connection.
    """

    rounds: Counter[str] = field(default_factory=Counter)
    connections: int = 0
    open_at_most: int = 0
    refused: int = 0
    closed_by_node: int = 0

    def to_json(self) -> str:
        """The form on the attacker's standard output."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_json(cls, text: str) -> Tally:
        """Read what `to_json` wrote."""
        read = json.loads(text)
        return cls(**read | {"rounds": Counter(read["rounds"])})
