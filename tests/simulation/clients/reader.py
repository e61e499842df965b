"""A client that reads the log from its beginning, wherever it can."""

from __future__ import annotations

from raft.core.messages import ClientFetchRequest, FetchResponse
from raft.errors import ErrorCode
from raft.records.split import split_batches
from raft.types import Epoch, NodeId, Offset
from tests.simulation.clients.caller import Caller
from tests.simulation.dice import Dice
from tests.simulation.invariants.observer import Observer
from tests.simulation.log_twin import LogTwin
from tests.simulation.timeline import Timeline

_PAUSE_MS = (0, 150)
_MAX_WAIT_MS = (0, 400)
_PATIENCE_MS = 900
_CHANGES_ONE_IN = 8
"""A node that serves us is left for another after so many answers or so."""

_MAX_BYTES = (1, 2000)


class Reader:
    """Reads on and on, from leader and followers.

    It keeps the highest epoch it has seen, sends it along and drops answers of a lower one, as our own client does:
    else a leader of days gone by could tell it that what it has read was never there.

    Attributes:
        log: all it has read.
    """

    def __init__(self, name: str, caller: Caller, *, timeline: Timeline, dice: Dice, watch: Observer) -> None:
        self.log = LogTwin()
        self.name = name
        self._caller = caller
        self._timeline = timeline
        self._dice = dice
        self._watch = watch
        self._epoch: Epoch | None = None
        self._leader_id: NodeId | None = None
        self._asked = 0

    @property
    def end_offset(self) -> Offset:
        """How far it has come."""
        return self.log.end_offset

    def begin(self) -> None:
        """Ask, and again whenever that is answered or has taken too long."""
        self._asked += 1
        number = self._asked
        self._caller.fetch(self._request(), lambda response, records: self._on_answer(number, response, records))
        self._timeline.after(_PATIENCE_MS, lambda: self._on_silence(number))

    def _request(self) -> ClientFetchRequest:
        entries = self.log.entries
        says_epoch_of_last = bool(entries) and self._dice.draw(2) == 0
        return ClientFetchRequest(
            fetch_offset=self.log.end_offset,
            max_wait_ms=self._dice.between(_MAX_WAIT_MS),
            max_bytes=self._dice.between(_MAX_BYTES),
            epoch=self._epoch,
            last_fetched_epoch=entries[-1].header.epoch if says_epoch_of_last else None,
        )

    def _on_silence(self, number: int) -> None:
        if number == self._asked:
            self._caller.believe(None)
            self.begin()

    def _on_answer(self, number: int, response: FetchResponse, records: bytes) -> None:
        if number != self._asked:
            return
        is_old = self._epoch is not None and response.leader.epoch < self._epoch
        former_id, self._leader_id = self._leader_id, response.leader.leader_id
        if not is_old:
            self._epoch = response.leader.epoch
            if records and response.error == ErrorCode.NONE:
                self._take(records)
        is_served = not is_old and response.error == ErrorCode.NONE
        if former_id != self._leader_id and self._dice.draw(2):
            # Some hear of a new leader late, and go to the one they know.
            self._caller.believe(former_id)
        elif is_served and self._dice.draw(_CHANGES_ONE_IN):
            self._caller.stay()
        else:
            self._caller.believe(None)
        self._asked += 1
        self._timeline.after(0 if records else self._dice.between(_PAUSE_MS), self.begin)

    def _take(self, records: bytes) -> None:
        for batch in split_batches(records):
            self.log.append(batch)
        self._watch.read(self.name, self.log)
