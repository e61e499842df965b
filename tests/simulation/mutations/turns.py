"""Bugs of the turns that a node gives to its connections."""

from __future__ import annotations

from typing import Any

import pytest

from raft.core.events import AppendRequested
from raft.runtime import engine, turns
from raft.runtime.fair_queue import FairQueue
from raft.runtime.shares import Shares
from raft.runtime.turns import Client, Turns
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("SHARE-3",), caught_by=("ClientsAreServedInTurn", "FloodDelaysAppendsByLittle"))
def connections_served_in_the_order_of_arrival(patch: pytest.MonkeyPatch) -> None:
    """The turns go to the connections in the order in which they began to wait, whoever owns them."""
    add = Shares.add
    patch.setattr(FairQueue, "charge", lambda _queue, _member, _work_s: None)
    patch.setattr(Shares, "add", lambda shares, client, _owner: add(shares, client, client))


@mutation(breaks=("SHARE-2",), caught_by=("VotersAreServedFirst",), needs=needs.floods)
def voters_wait_like_clients(patch: pytest.MonkeyPatch) -> None:
    """A voter has the turns of a client, by the time that the node has worked for it."""
    init, give_turns = Turns.__init__, Turns._give_turns

    def with_one_queue(all_turns: Turns, **arguments: Any) -> None:
        init(all_turns, **arguments)
        all_turns._voters = all_turns._clients

    def give_turns_to_clients(all_turns: Turns, waiting: Shares[Client], *, is_voter: bool) -> None:
        if not is_voter:
            give_turns(all_turns, waiting, is_voter=False)

    patch.setattr(Turns, "__init__", with_one_queue)
    patch.setattr(Turns, "_give_turns", give_turns_to_clients)


@mutation(breaks=("SHARE-1",), caught_by=("ClientsAreServedInTurn", "VotersAreServedFirst"))
def connection_served_until_it_is_empty(patch: pytest.MonkeyPatch) -> None:
    """A turn ends only when the connection has no more requests."""
    patch.setattr(turns, "TURN_S", 3600.0)


@mutation(breaks=("SHARE-3", "SHARE-4"), caught_by=("ReceivedRequestsAreServed",))
def connection_waits_for_no_second_turn(patch: pytest.MonkeyPatch) -> None:
    """A connection with more requests than one turn handles gets no other turn, and is not read any more."""
    give_turn, wait = Turns._give_turn, Turns._wait

    def give_only_turn(all_turns: Turns, client: Client) -> None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Turns, "_wait", lambda _turns, _client: None)
            give_turn(all_turns, client)

    patch.setattr(Turns, "_wait", wait)
    patch.setattr(Turns, "_give_turn", give_only_turn)


@mutation(breaks=("SHARE-9",), caught_by=("FloodDelaysAppendsByLittle",), needs=needs.floods)
def requests_held_while_any_client_waits(patch: pytest.MonkeyPatch) -> None:
    """What clients ask of the core is held for as long as a client waits for a turn, however long that is."""
    patch.setattr(turns, "HOLD_S", 3600.0)
    patch.setattr(turns, "LONGEST_HOLD_S", 3600.0)


@mutation(breaks=("SHARE-9",), caught_by=("EngineAndCoreHoldSameRequests",))
def abandoned_request_passes_the_held_ones(patch: pytest.MonkeyPatch) -> None:
    """The core hears of the end of a connection before it gets the connection's requests that are held."""
    patch.setattr(engine, "_OF_HELD_CONNECTIONS", (AppendRequested,))


@mutation(breaks=("SHARE-9",), caught_by=("HeldRequestsAreHandled",))
def held_requests_are_handled_only_after_a_second_turn(patch: pytest.MonkeyPatch) -> None:
    """What one turn has asked of the core is held until the next turn of a client."""
    settle = Turns._settle_and_charge

    def settle_if_several(all_turns: Turns) -> None:
        if sum(all_turns._begun.values()) > 1:
            settle(all_turns)

    patch.setattr(Turns, "_settle_and_charge", settle_if_several)
