"""Bugs of client quotas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from raft.codec import Message
from raft.node.throttle import Throttle
from raft.runtime.pace import Pace
from raft.runtime.turns import Client, Standing, Turns
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("QUOTA-6",), caught_by=("QuotaLimitsTurns",), needs=needs.quotas)
def turns_ignore_quotas(patch: pytest.MonkeyPatch) -> None:
    """Quotas mute the connections of a client one by one, and it has turns on all others."""
    pace_to_wait_for = Turns._pace_to_wait_for

    def wait_without_quotas(turns: Turns, client: Client, standing: Standing) -> Pace | None:
        return pace_to_wait_for(turns, client, standing) if standing is Standing.UNKNOWN else None

    patch.setattr(Turns, "_pace_to_wait_for", wait_without_quotas)


@mutation(breaks=("QUOTA-3",), caught_by=("ThrottledConnectionsWait", "ResponsesSayThrottles"), needs=needs.quotas)
def throttled_connection_is_not_muted(patch: pytest.MonkeyPatch) -> None:
    """A response says that its client is throttled, and the node goes on with its requests."""
    patch.setattr(Throttle, "_mute", lambda _throttle, _duration_s, _resume: None)


@mutation(breaks=("QUOTA-3",), caught_by=("ThrottledConnectionsWait",), needs=needs.quotas)
def muted_connection_stays_muted(patch: pytest.MonkeyPatch) -> None:
    """A connection that was muted is never read again."""

    def mute(throttle: Throttle, _duration_s: float, _resume: Callable[[], None]) -> None:
        throttle.is_muted = True

    patch.setattr(Throttle, "_mute", mute)


@mutation(breaks=("QUOTA-3",), caught_by=("ReceivedRequestsAreServed",), needs=needs.quotas)
def muted_connection_is_not_resumed(patch: pytest.MonkeyPatch) -> None:
    """What waits on a connection that was muted has no turn until something else is received."""
    unmute = Throttle._unmute
    patch.setattr(Throttle, "_unmute", lambda throttle, _resume: unmute(throttle, lambda: None))


@mutation(breaks=("QUOTA-3",), caught_by=("ResponsesSayThrottles",), needs=needs.quotas)
def response_does_not_say_the_throttle(patch: pytest.MonkeyPatch) -> None:
    """A connection is muted, and its client is not told."""
    respond = Throttle.respond

    def respond_without_word(throttle: Throttle, *arguments: Any, **sizes: Any) -> Message | None:
        respond(throttle, *arguments, **sizes)
        return None

    patch.setattr(Throttle, "respond", respond_without_word)
