"""All clients of one run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from types import TracebackType
from typing import Self

from raft.types import Offset
from tests.soak.clients.appender import Appender
from tests.soak.clients.keyed_writer import KeyedWriter
from tests.soak.clients.librdkafka import LibrdkafkaProducer, LibrdkafkaReader
from tests.soak.clients.log_reader import LogReader
from tests.soak.clients.readers import FreshReader, SessionReader
from tests.soak.clients.stream_planner import StreamPlanner
from tests.soak.quorum import LONGEST_RECOVERY_S, PATIENT_MS, Quorum
from tests.workload.history import History
from tests.workload.worker import Worker

IMPATIENT_MS = 1_500
"""Gives up in the midst of most faults, and leaves writes behind of which nobody knows what became."""

_LONGEST_PAUSE_S = 0.05
_LIBRDKAFKA_PAUSE_S = 0.01
_LONGEST_END_S = LONGEST_RECOVERY_S + 10.0


class Crowd:
    """Writers of all kinds in turn, and one reader of each kind.

    Args:
        quorum: whom they call.
        history: gets what they see.
        writer_count: how many write.
        seed: says what they do next, as far as that depends on them.
    """

    def __init__(self, quorum: Quorum, history: History, *, writer_count: int, seed: int) -> None:
        self._quorum = quorum
        self._history = history
        self._writers = [self._writer(number, Random(f"{seed}-{number}")) for number in range(writer_count)]
        self._log_readers: Sequence[LogReader] = (
            SessionReader("session", history, quorum.settings(api_timeout_ms=PATIENT_MS)),
            LibrdkafkaReader("librdkafka", history, quorum.endpoints),
        )
        self._fresh_reader = FreshReader(
            "fresh", history, quorum.settings(api_timeout_ms=IMPATIENT_MS), Random(f"{seed}-fresh")
        )
        options = {
            "kraft.bootstrap.servers": ",".join(map(str, quorum.endpoints)),
            "kraft.default.api.timeout.ms": str(PATIENT_MS),
            "startingOffsets": "earliest",
        }
        self._stream_planner = StreamPlanner("stream", history, options, Random(f"{seed}-stream"))

    def __enter__(self) -> Self:
        for worker in self._everybody:
            worker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._everybody:
            worker.ask_to_stop()
        if isinstance(error, KeyboardInterrupt):
            return
        # All have ended by now, unless something went wrong. Then, too, what they have under way is to be noted.
        deadline_s = time.monotonic() + _LONGEST_END_S
        for worker in self._everybody:
            with suppress(AssertionError):
                worker.join(max(0.0, deadline_s - time.monotonic()))

    def stop_writing(self) -> None:
        """Return when every writer has ended, and the readers that begin sessions have, too.

        Raises:
            AssertionError: one does not end.
        """
        _stop([*self._writers, self._fresh_reader, self._stream_planner])

    def read_to(self, last_offset: Offset) -> None:
        """Return when who reads the whole log has read the record at this offset, and ended.

        Raises:
            AssertionError: one does not.
        """
        for reader in self._log_readers:
            reader.read_to(last_offset)
        for reader in self._log_readers:
            reader.join(_LONGEST_END_S)

    @property
    def _everybody(self) -> Sequence[Worker]:
        return [*self._writers, *self._log_readers, self._fresh_reader, self._stream_planner]

    def _writer(self, number: int, dice: Random) -> Worker:
        """The kinds come in turn; the two of a writer id come one after the other."""
        endpoints, history = self._quorum.endpoints, self._history
        match number % 5:
            case 0:
                patient = self._quorum.settings(api_timeout_ms=PATIENT_MS)
                return Appender(f"patient{number}", history, patient, dice, longest_pause_s=_LONGEST_PAUSE_S)
            case 1:
                impatient = self._quorum.settings(api_timeout_ms=IMPATIENT_MS)
                return Appender(f"impatient{number}", history, impatient, dice, longest_pause_s=_LONGEST_PAUSE_S)
            case 2:
                return LibrdkafkaProducer(f"librdkafka{number}", history, endpoints, pause_s=_LIBRDKAFKA_PAUSE_S)
            case twin:
                settings = self._quorum.settings(api_timeout_ms=2 * IMPATIENT_MS)
                return KeyedWriter(
                    f"twin{twin - 2}of{number // 5}",
                    history,
                    f"key{number // 5}",
                    settings,
                    dice,
                    longest_pause_s=_LONGEST_PAUSE_S,
                )


def _stop(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.ask_to_stop()
    for worker in workers:
        worker.join(_LONGEST_END_S)
