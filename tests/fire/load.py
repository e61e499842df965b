"""The clients of a run: a feeder of the source, a consumer that reads the sink meanwhile, and readers of both ends."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from raft.types import Offset
from tests.fire.feeder import Feeder
from tests.fire.logged_writes import Rows
from tests.fire.stage import Stage
from tests.harness.clients.librdkafka import LibrdkafkaReader
from tests.harness.clients.readers import FreshReader
from tests.harness.quorum import IMPATIENT_MS, Quorum
from tests.workload.history import History
from tests.workload.worker import Worker, stop

LONGEST_END_S = 60.0
"""How long the clients may need until they have ended, in seconds."""

_LAST_WRITE_S = 120.0


class Load:
    """The clients, which do not run yet.

    Args:
        stage: gets their requests.
        seed: decides what they do.

    Attributes:
        feeder: writes to the source.
        ends: what the readers of the end of each log have seen, by the name of the log.
    """

    def __init__(self, stage: Stage, seed: int) -> None:
        self._history = History()
        self._read_from_sink = History()
        self.ends = {name: History() for name in ("source", "sink")}
        self.feeder = Feeder("feeder", self._history, stage.source.options(), seed)
        self._consumer = LibrdkafkaReader("librdkafka", self._read_from_sink, stage.sink.librdkafka_settings())
        self._end_readers = [
            end_reader(stage.quorum(name), history, name=name, seed=seed) for name, history in self.ends.items()
        ]

    @property
    def workers(self) -> Sequence[Worker]:
        """All clients."""
        return (self.feeder, self._consumer, *self._end_readers)

    @property
    def complaints(self) -> Sequence[str]:
        """The errors that have ended the feeder and the consumer."""
        return [*self._history.complaints, *self._read_from_sink.complaints]

    def stop_feeder(self) -> None:
        """Stop the feeder, once its last write is acknowledged.

        Raises:
            AssertionError: that is not in time.
        """
        stop([self.feeder], within_s=_LAST_WRITE_S)

    def rows_of_consumer(self, last_offset: Offset) -> Rows:
        """Wait until the consumer has read the record at this offset; return everything that it has read.

        Raises:
            AssertionError: that is not in time.
        """
        self._consumer.read_to(last_offset)
        self._consumer.join(LONGEST_END_S)
        return [record for read in self._read_from_sink.reads for record in read.records]

    def stop_readers(self) -> None:
        """Stop the readers of the ends.

        Raises:
            AssertionError: one does not end.
        """
        stop(self._end_readers, within_s=LONGEST_END_S)


def end_reader(quorum: Quorum, history: History, *, name: str, seed: int) -> FreshReader:
    """Return a reader that reads the end of a log again and again, each time in a new session.

    Args:
        quorum: has the log.
        history: gets what it has read.
        name: of the log.
        seed: decides which node the reader asks first, and its pauses.
    """
    settings = quorum.settings(api_timeout_ms=IMPATIENT_MS)
    return FreshReader(f"{name} reader", history, settings, Random(f"{seed}-{name}-reader"))
