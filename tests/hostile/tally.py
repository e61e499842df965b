"""Counts of what the neighbour did."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of one run.

    Fields:
        rounds: that began, by attack.
        ended: rounds whose connection was opened, and that have ended before the attack was over, by attack.
        connections: how many were opened.
        open_at_most: the largest number of open connections.
        refused: connections that could not be opened.
        closed_by_node: rounds that ended because the node closed the connection.
        received_at_most: the most bytes that a node has sent on one connection of the Kafka protocol.
        processor_s: the processor time that the neighbour has used, in seconds.
    """

    rounds: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    connections: int = 0
    open_at_most: int = 0
    refused: int = 0
    closed_by_node: int = 0
    received_at_most: int = 0
    processor_s: float = 0.0

    def to_json(self) -> str:
        """Return the text for the standard output of the attacker."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_json(cls, text: str) -> Tally:
        """Read what `to_json` wrote."""
        read = json.loads(text)
        return cls(**read | {kind: Counter(read[kind]) for kind in ("rounds", "ended")})
