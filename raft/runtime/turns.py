"""The order in which a node handles what its connections have received.

An event loop handles everything that a socket has received before it looks at the next one, so a client that sends
without a pause would keep it from all others. Here connections take turns, each for a bounded time, and in each round
of turns

1. voters come first: without their requests nothing is committed, and no leader stays one;
2. then the clients, by the processor time that has been used for them (see `Shares`).

Some clients have a pace beside this: all clients together that have to prove their names and have not done so get a
tenth of the time, and clients with a quota of `request_percentage` get no more than that. One that has used more waits
until its pace allows the next turn (see `PacedClients`), even if no other client has anything to do.

A round ends after half a millisecond, so that the event loop goes on: to the disk, to the responses of other voters, to
the timers. If more comes from a connection while its requests wait, it is not read, as Kafka mutes a channel.

Time is processor time of the event loop's thread: what other processes do meanwhile is not the fault of a client. What
the core does with the requests that it handles together counts for their clients in equal parts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum
from itertools import count
from operator import attrgetter
from typing import Protocol

from raft.runtime.pace import Pace
from raft.runtime.paced_clients import PacedClients
from raft.runtime.shares import Shares

TURN_S = 0.000_25
"""A client begins no further request in its turn after so much time."""

ROUND_S = 0.000_5
"""A round ends with the turn in which so much time is over."""

HOLD_S = 0.004
"""The core handles the requests of clients together, after the round in which no client waits for a turn any more, or
in which so much time is over and a client has had a second turn. So one append to the log, one flush and one response
to each replica serve many."""

LONGEST_HOLD_S = 0.04
"""It handles them after the round in which so much time is over, even if each client has had one turn at most."""

UNKNOWN_SHARE = 0.1
"""The part of its time that a node spends on clients that it does not know. A handshake of TLS takes half a
millisecond, and a client can begin one with bytes that it has recorded."""

UNKNOWN_CREDIT_S = 0.5
"""Time that none of them has used, up to so much, is used later without a pause: many connect when a node starts."""


_NUMBER = attrgetter("number")


class Standing(Enum):
    """What a node knows of the other side of a connection."""

    VOTER = "a voter"
    KNOWN = "a client that has proved its name, or need not"
    UNKNOWN = "a client that has to prove its name"


class Client(Hashable, Protocol):
    """A connection, as far as turns concern it."""

    @property
    def number(self) -> int:
        """Tells the connection from all others of the node, earlier ones included."""
        ...

    @property
    def standing(self) -> Standing:
        """What the node knows of the other side."""
        ...

    @property
    def owner(self) -> Hashable:
        """With whom the client shares its time: all clients with an equal owner."""
        ...

    @property
    def pace(self) -> Pace | None:
        """What limits its processor time, in seconds a second; None for no limit."""
        ...

    @property
    def is_closing(self) -> bool:
        """Whether the connection is closed or being closed."""
        ...

    @property
    def has_work(self) -> bool:
        """Whether `work` would do anything now."""
        ...

    def work(self, is_over: Callable[[], bool]) -> int:
        """Begin requests that were received, until none can begin or the turn is over.

        Args:
            is_over: whether to begin no further request. It is asked after each request.

        Returns:
            How many have begun.
        """
        ...


class Turns:
    """The connections of a node that wait for their turns.

    Args:
        now_s: returns the time of a monotonic clock, in seconds.
        used_s: returns the processor time that this thread has used, in seconds.
        call_soon: runs an action after the actions that are scheduled to run now.
        call_later: runs an action after some seconds.
        hold: says whether what is submitted to the core from now on waits for `settle`.
        settle: lets the core handle the requests that have begun.
    """

    def __init__(
        self,
        *,
        now_s: Callable[[], float],
        used_s: Callable[[], float],
        call_soon: Callable[[Callable[[], None]], object],
        call_later: Callable[[float, Callable[[], None]], object],
        hold: Callable[[bool], None],
        settle: Callable[[], None],
    ) -> None:
        self._now_s = now_s
        self._used_s = used_s
        self._call_soon = call_soon
        self._call_later = call_later
        self._hold = hold
        self._settle = settle
        self._voters: Shares[Client] = Shares(_NUMBER)
        self._clients: Shares[Client] = Shares(_NUMBER)
        self._paced: PacedClients[Client] = PacedClients(_NUMBER)
        self._unknown_pace = Pace(UNKNOWN_SHARE, credit_s=UNKNOWN_CREDIT_S, now_s=now_s() + UNKNOWN_CREDIT_S)
        self._spent_s = {True: 0.0, False: 0.0}
        """Time that was used in this round, for voters and for clients."""
        self._begun: dict[Client, int] = {}
        """How many requests of each client wait for `settle`."""
        self._held_since_s: float | None = None
        """When the first turn began whose requests wait for `settle`, in processor time."""
        self._has_second_turn = False
        """Whether a client has had another turn since then: so those that waited with it have had theirs."""
        self._is_round_due = False
        self._timer_s: float | None = None
        """When the next timer ends that was set for clients with a pace."""
        self._is_measuring = False
        self._turn_began_s: float | None = None
        self._numbers = count()

    @property
    def turn_s(self) -> float:
        """Processor time of the present turn, which is counted when it ends, in seconds; 0 between two turns."""
        return 0.0 if self._turn_began_s is None else self._used_s() - self._turn_began_s

    def new_number(self) -> int:
        """Return the number of a new client."""
        return next(self._numbers)

    def ready(self, client: Client) -> None:
        """Let a client work: at once if no other one waits, otherwise in its turn."""
        if not client.has_work:
            return
        if self._may_work_now(client):
            self._give_turn(client)
        else:
            self._wait(client)

    def forget(self, client: Client) -> None:
        """Forget a client: its connection is closed."""
        self._voters.forget(client, client.owner)
        self._clients.forget(client, client.owner)
        self._paced.forget(client, client.owner, self._now_s())
        self._begun.pop(client, None)

    def measure(self, client: Client, work: Callable[[], object]) -> None:
        """Do work for a client outside of its turn, such as sending a response."""
        if self._is_measuring or client.is_closing:
            # It is measured with the work that has led to it, or for a client that is forgotten or soon will be.
            work()
        else:
            self.charge(client, self._measured(work))

    def charge(self, client: Client, work_s: float) -> None:
        """Count processor time that was used for a client, by this thread or another one.

        Args:
            client: the client.
            work_s: in seconds.
        """
        self._charge(client, client.standing, client.owner, work_s)

    def _charge(self, client: Client, standing: Standing, owner: Hashable, work_s: float) -> None:
        if standing is Standing.VOTER:
            self._voters.charge(client, owner, work_s)
            return
        self._clients.charge(client, owner, work_s)
        pace = self._pace_of(client, standing)
        if pace is not None:
            pace.use(work_s, self._now_s())
            self._paced.charge(client, owner, pace, work_s)

    def _may_work_now(self, client: Client) -> bool:
        standing = client.standing
        is_voter = standing is Standing.VOTER
        return (
            not self._is_measuring
            and standing is not Standing.UNKNOWN
            and not (self._voters if is_voter else self._clients)
            and self._spent_s[is_voter] < ROUND_S
            and self._pace_to_wait_for(client, standing) is None
        )

    def _pace_of(self, client: Client, standing: Standing) -> Pace | None:
        if standing is Standing.VOTER:
            return None
        return self._unknown_pace if standing is Standing.UNKNOWN else client.pace

    def _pace_to_wait_for(self, client: Client, standing: Standing) -> Pace | None:
        """Return the pace of a client if it does not allow a turn now."""
        pace = self._pace_of(client, standing)
        return pace if pace is not None and pace.pause_s(self._now_s()) > 0 else None

    def _wait(self, client: Client) -> None:
        if client in self._paced:
            return
        standing = client.standing
        if standing is Standing.VOTER:
            self._voters.add(client, client.owner)
        elif (pace := self._pace_to_wait_for(client, standing)) is not None:
            self._paced.add(client, client.owner, pace, self._now_s())
            self._set_timer()
            return
        else:
            self._clients.add(client, client.owner)
        self._schedule_round()

    def _schedule_round(self) -> None:
        if not self._is_round_due:
            self._is_round_due = True
            self._call_soon(self._round)

    def _set_timer(self) -> None:
        """Begin a round when a client with a pace may have a turn."""
        due_s = self._paced.next_release_s()
        if due_s is not None and (self._timer_s is None or due_s < self._timer_s):
            self._timer_s = due_s
            self._call_later(max(0.0, due_s - self._now_s()), self._end_pause)

    def _end_pause(self) -> None:
        self._timer_s = None
        self._schedule_round()

    def _round(self) -> None:
        self._is_round_due = False
        self._spent_s = {True: 0.0, False: 0.0}
        self._give_turns(self._voters, is_voter=True)
        for client in self._paced.release(self._now_s()):
            self._clients.add(client, client.owner)
        self._give_turns(self._clients, is_voter=False)
        if self._held_since_s is not None:
            longest_s = HOLD_S if self._has_second_turn else LONGEST_HOLD_S
            if not self._clients or self._used_s() >= self._held_since_s + longest_s:
                self._settle_and_charge()
        if self._voters or self._clients:
            self._schedule_round()
        self._set_timer()

    def _give_turns(self, waiting: Shares[Client], *, is_voter: bool) -> None:
        while waiting and self._spent_s[is_voter] < ROUND_S:
            client = waiting.take()
            if self._pace_to_wait_for(client, client.standing) is None:
                self._give_turn(client)
            else:
                self._wait(client)
            self._paced.has_had_its_turn(client, self._now_s())

    def _give_turn(self, client: Client) -> None:
        """Let a client work for a bounded time. If it has more work then, it waits for its next turn."""
        self._schedule_round()  # What it begins is settled in that round, or in a later one.
        standing, owner = client.standing, client.owner  # The turn may change them.
        is_voter = standing is Standing.VOTER
        began_s = self._turn_began_s = self._used_s()
        end_s = began_s + TURN_S
        if not is_voter:
            self._hold(True)
            if self._held_since_s is None:
                self._held_since_s = began_s
        self._is_measuring = True
        try:
            begun = client.work(lambda: self._used_s() >= end_s)
        finally:
            self._turn_began_s, self._is_measuring = None, False
            self._hold(False)
        if begun and not is_voter:
            before = self._begun.get(client, 0)
            self._begun[client] = before + begun
            if before:
                self._has_second_turn = True
        work_s = self._used_s() - began_s
        self._spent_s[is_voter] += work_s
        self._charge(client, standing, owner, work_s)
        if client.has_work:
            self._wait(client)

    def _settle_and_charge(self) -> None:
        begun, self._begun, self._held_since_s, self._has_second_turn = self._begun, {}, None, False
        work_s = self._measured(self._settle)
        total = sum(begun.values())
        for client, requests in begun.items():
            self.charge(client, work_s * requests / total)

    def _measured(self, work: Callable[[], object]) -> float:
        """Do work; return the processor time that it has used, in seconds."""
        begin_s = self._used_s()
        self._is_measuring = True
        try:
            work()
        finally:
            self._is_measuring = False
        return self._used_s() - begin_s
