"""A client that reads the log from its start, from leader and followers."""

from __future__ import annotations

from collections.abc import Sequence

from raft.client import AbortedFilter, AbortedTransaction
from raft.codec import Message
from raft.errors import ErrorCode
from raft.records.batches import read_batches
from raft.types import NodeId, Offset
from raft.wire.mapping.fetches import READ_COMMITTED
from raft.wire.messages.fetch import AbortedTransaction as AbortedOnWire
from raft.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
)
from tests.simulation.clients.caller import Caller
from tests.simulation.dice import Dice
from tests.simulation.invariants.observer import Observer
from tests.simulation.log_model import LogModel
from tests.simulation.starting import TOPIC, TOPIC_ID
from tests.simulation.timeline import Timeline

_VERSIONS = (12, 13, 16)
_PAUSE_MS = (0, 150)
_MAX_WAIT_MS = (0, 400)
_REQUEST_TIMEOUT_MS = 900
_RESPONSES_PER_NODE = 8
"""The reader goes to another node after so many responses on average."""

_MAX_BYTES = (1, 2000)
_UNKNOWN = -1


class Reader:
    """Reads without end from leader and followers, like a Kafka consumer.

    It keeps the highest leader epoch that it has seen, sends it along, and drops responses of lower epochs, like this
    project's client. Otherwise a deposed leader could reject an offset that it has read.

    Args:
        name: the name of the reader.
        caller: its connections to the quorum.
        timeline: virtual time.
        dice: the random numbers of the reader.
        watch: receives what it reads.

    Attributes:
        log: all that it has read.
    """

    def __init__(self, name: str, caller: Caller, *, timeline: Timeline, dice: Dice, watch: Observer) -> None:
        self.log = LogModel()
        self.name = name
        self._caller = caller
        self._timeline = timeline
        self._dice = dice
        self._watch = watch
        self._epoch = _UNKNOWN
        self._leader_id = _UNKNOWN
        self._request_number = 0
        self._isolation_level = self._dice.draw(2)

    @property
    def end_offset(self) -> Offset:
        """One past the last record that it has read."""
        return self.log.end_offset

    def begin(self) -> None:
        """Fetch, and again after each response or request timeout."""
        self._request_number += 1
        number = self._request_number
        request = self._request()
        self._caller.send(request, self._dice.pick(_VERSIONS), lambda response: self._on_response(number, response))
        self._timeline.after(_REQUEST_TIMEOUT_MS, lambda: self._on_silence(number))

    def _request(self) -> FetchRequest:
        fetch_offset, last_epoch = self._fetch_from()
        max_bytes = self._dice.between(_MAX_BYTES)
        partition = FetchRequestPartition(
            partition=0,
            current_leader_epoch=self._epoch,
            fetch_offset=fetch_offset,
            last_fetched_epoch=last_epoch,
            partition_max_bytes=max_bytes,
        )
        return FetchRequest(
            max_wait_ms=self._dice.between(_MAX_WAIT_MS),
            min_bytes=self._dice.draw(2) * max_bytes,
            max_bytes=max_bytes,
            isolation_level=self._isolation_level,
            topics=(FetchRequestTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=(partition,)),),
        )

    def _fetch_from(self) -> tuple[Offset, int]:
        """Return the offset of the next fetch, and the epoch of the record before; -1 for none."""
        entries = self.log.entries
        sends_last_epoch = bool(entries) and self._dice.draw(2) == 0
        return self.log.end_offset, entries[-1].header.epoch if sends_last_epoch else _UNKNOWN

    def _on_silence(self, number: int) -> None:
        if number == self._request_number:
            self._caller.set_leader(None)
            self.begin()

    def _on_response(self, number: int, message: Message) -> None:
        if number != self._request_number:
            return
        assert isinstance(message, FetchResponse), "the response to Fetch"
        ((partition,),) = (topic.partitions for topic in message.responses)
        is_old = partition.current_leader.leader_epoch < self._epoch
        former_id, self._leader_id = self._leader_id, partition.current_leader.leader_id
        if not is_old:
            self._epoch = partition.current_leader.leader_epoch
            if partition.records and partition.error_code == ErrorCode.NONE:
                self._take(partition.records, partition.aborted_transactions or ())
        self._choose(partition, former_id, is_old=is_old)
        self._request_number += 1
        self._timeline.after(0 if partition.records else self._dice.between(_PAUSE_MS), self.begin)

    def _choose(self, partition: FetchResponsePartition, former_id: int, *, is_old: bool) -> None:
        """Choose the node of the next fetch."""
        is_served = not is_old and partition.error_code == ErrorCode.NONE
        if former_id != self._leader_id and self._dice.draw(2):
            # Some clients learn of a new leader late, and go to the one that they know.
            self._caller.set_leader(NodeId(former_id))
        elif is_served and self._dice.draw(_RESPONSES_PER_NODE):
            self._caller.keep_node()
        else:
            self._caller.set_leader(None)

    def _take(self, records: bytes, aborted: Sequence[AbortedOnWire]) -> None:
        start, batches = self.log.end_offset, list(read_batches(records))
        for batch in batches:
            self.log.append(batch)
        self._watch.records_read(self.name, self.log)
        if self._isolation_level == READ_COMMITTED:
            dropped = AbortedFilter(AbortedTransaction(each.producer_id, Offset(each.first_offset)) for each in aborted)
            seen = [batch for batch in batches if not dropped.drops(batch.header) and not batch.header.is_control]
            self._watch.records_seen(self.name, start, self.log.end_offset, seen)
