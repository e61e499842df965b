"""All clients of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from raft.client import ReadFrom
from raft.types import Offset
from tests.harness.clients.appender import Appender
from tests.harness.clients.keyed_writer import KeyedWriter
from tests.harness.clients.latest_reader import LatestReader
from tests.harness.clients.librdkafka import LibrdkafkaProducer, LibrdkafkaReader
from tests.harness.clients.log_reader import LogReader
from tests.harness.clients.multipart_writer import MultipartWriter
from tests.harness.clients.outsider import ExpiringSession, Outsider
from tests.harness.clients.program import Program
from tests.harness.clients.readers import FreshReader, SessionReader
from tests.harness.clients.stream_planner import StreamPlanner
from tests.harness.clients.transactional_producer import TransactionalProducer
from tests.harness.quorum import IMPATIENT_MS, LONGEST_RECOVERY_S, PATIENT_MS, Quorum
from tests.harness.quorum_security import OUTSIDER
from tests.workload.history import History
from tests.workload.worker import Worker, stop

_KINDS = 8
"""Writers of as many kinds, counting both twins, take turns."""

_LONGEST_PAUSE_S = 0.05
_LIBRDKAFKA_PAUSE_S = 0.01
LONGEST_END_S = LONGEST_RECOVERY_S + 10.0
"""How long a client may need until it has ended, in seconds."""


class Crowd:
    """Writers of every kind, a program with the library, and one reader of each kind.

    Args:
        quorum: gets their requests.
        history: gets what they see; see `Worker`.
        writer_count: how many clients write.
        most_values: see `TwinWriter`.
        seed: decides the sizes of their batches and how long they wait.
    """

    def __init__(self, quorum: Quorum, history: History, *, writer_count: int, most_values: int, seed: int) -> None:
        self._quorum = quorum
        self._most_values = most_values
        self._history = history
        self._writers = [self._writer(number, Random(f"{seed}-{number}")) for number in range(writer_count)]
        self._writers.append(
            Program(
                "program",
                history,
                quorum.settings(api_timeout_ms=IMPATIENT_MS),
                Random(f"{seed}-program"),
                longest_pause_s=_LONGEST_PAUSE_S,
            )
        )
        self._log_readers: Sequence[LogReader] = (
            SessionReader("session", history, quorum.settings(api_timeout_ms=PATIENT_MS)),
            SessionReader("any", history, replace(quorum.settings(api_timeout_ms=PATIENT_MS), read_from=ReadFrom.ANY)),
            LibrdkafkaReader("librdkafka", history, quorum.librdkafka_settings()),
        )
        self._fresh_reader = FreshReader(
            "fresh", history, quorum.settings(api_timeout_ms=IMPATIENT_MS), Random(f"{seed}-fresh")
        )
        self._latest_reader = LatestReader(
            "latest",
            history,
            quorum.settings(api_timeout_ms=IMPATIENT_MS),
            Random(f"{seed}-latest"),
            longest_pause_s=_LONGEST_PAUSE_S,
        )
        options = quorum.options() | {
            "kraft.default.api.timeout.ms": str(PATIENT_MS),
            "startingOffsets": "earliest",
        }
        self._stream_planner = StreamPlanner("stream", history, options, Random(f"{seed}-stream"))
        self._outsiders = outsiders(quorum, history, seed=seed)

    @property
    def workers(self) -> Sequence[Worker]:
        """All clients."""
        return [*self._other_workers, *self._log_readers]

    def stop_writing(self) -> None:
        """Stop the writers and the readers that open sessions, and wait until they have ended.

        Raises:
            AssertionError: one does not end.
        """
        stop(self._other_workers, within_s=LONGEST_END_S)

    def read_to(self, last_offset: Offset) -> None:
        """Wait until the readers of the whole log have read the record at this offset and ended.

        Raises:
            AssertionError: one does not.
        """
        for reader in self._log_readers:
            reader.read_to(last_offset)
        for reader in self._log_readers:
            reader.join(LONGEST_END_S)

    @property
    def _other_workers(self) -> Sequence[Worker]:
        return [
            *self._writers,
            self._latest_reader,
            self._fresh_reader,
            self._stream_planner,
            *self._outsiders,
        ]

    def _writer(self, number: int, dice: Random) -> Worker:
        """Make one writer; the kinds take turns, and the two writers with one writer id have successive numbers."""
        access, history = self._quorum.librdkafka_settings(), self._history
        match number % _KINDS:
            case 0:
                patient = self._quorum.settings(api_timeout_ms=PATIENT_MS)
                return Appender(f"patient{number}", history, patient, dice, longest_pause_s=_LONGEST_PAUSE_S)
            case 1:
                impatient = self._quorum.settings(api_timeout_ms=IMPATIENT_MS)
                return Appender(f"impatient{number}", history, impatient, dice, longest_pause_s=_LONGEST_PAUSE_S)
            case 2:
                return LibrdkafkaProducer(f"librdkafka{number}", history, access, pause_s=_LIBRDKAFKA_PAUSE_S)
            case 3:
                return TransactionalProducer(
                    f"transactional{number}", history, access, dice, longest_pause_s=_LONGEST_PAUSE_S
                )
            case twin:
                settings = self._quorum.settings(api_timeout_ms=2 * IMPATIENT_MS)
                kind, writer_id = (KeyedWriter, "key") if twin < 6 else (MultipartWriter, "multipart")
                return kind(
                    f"{writer_id}twin{twin % 2}of{number // _KINDS}",
                    history,
                    f"{writer_id}{number // _KINDS}",
                    settings,
                    dice,
                    longest_pause_s=_LONGEST_PAUSE_S,
                    most_values=self._most_values,
                )


def outsiders(quorum: Quorum, history: History, *, seed: int) -> Sequence[Worker]:
    """Return clients that a secured quorum refuses; none for an open one.

    Args:
        quorum: gets their requests.
        history: see `Worker`.
        seed: decides what they send.
    """
    security = quorum.security
    if security is None:
        return ()
    settings = replace(quorum.settings(api_timeout_ms=IMPATIENT_MS), security=security.client(OUTSIDER))
    return (
        Outsider("outsider", history, quorum, security, settings, Random(f"{seed}-outsider")),
        ExpiringSession("session-end", history, quorum, security, Random(f"{seed}-session-end")),
    )
