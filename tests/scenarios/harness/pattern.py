"""The messages that a command applies to: `vote`, `fetch response 1->3`, `any request 3->*`."""

from __future__ import annotations

from dataclasses import dataclass

from raft.types import NodeId
from tests.scenarios.harness.arguments import Arguments, whole_number
from tests.scenarios.harness.kinds import Kind, kind_of
from tests.simulation.message import Message

_ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A message matches if it agrees with every field that is not None."""

    kind: Kind | None = None
    is_response: bool | None = None
    sender: NodeId | None = None
    receiver: NodeId | None = None

    @classmethod
    def taken_from(cls, arguments: Arguments) -> Pattern:
        """Read `[KIND or any] [request or response] [FROM->TO]`; a node may be `*`."""
        kind, is_response, sender, receiver = None, None, None, None
        if arguments.peek() == _ANY:
            arguments.word()
        elif arguments.peek() in set(Kind):
            kind = Kind(arguments.word())
        if arguments.peek() in ("request", "response"):
            is_response = arguments.word() == "response"
        if "->" in arguments.peek():
            left, _, right = arguments.word().partition("->")
            sender, receiver = _node_or_any(left), _node_or_any(right)
        return cls(kind=kind, is_response=is_response, sender=sender, receiver=receiver)

    def matches(self, message: Message) -> bool:
        """Return whether a message matches."""
        return (
            message.request is not None
            and self.kind in (None, kind_of(message.request))
            and self.is_response in (None, message.is_response)
            and self.sender in (None, message.sender)
            and self.receiver in (None, message.receiver)
        )


def _node_or_any(word: str) -> NodeId | None:
    return None if word == "*" else NodeId(whole_number(word))
