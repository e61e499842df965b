"""The rows that the works with Spark read: the same in quorums of this project and in topics of Kafka."""

from __future__ import annotations

from benchmarks.contest import OURS
from benchmarks.servers.broker import Broker
from benchmarks.servers.quorum import Quorum
from benchmarks.stage import Stage

Options = dict[str, str]


def kraft_options(quorum: Quorum, **options: object) -> Options:
    """Return the options of our source and sink."""
    return {"kraft.bootstrap.servers": quorum.bootstrap_servers, **_in_words(options)}


def kafka_options(broker: Broker, topic: str, **options: object) -> Options:
    """Return the options of Kafka's source."""
    return {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic, **_in_words(options)}


def filled_quorum(stage: Stage, contestant: str, rows: int) -> Quorum:
    """Start a quorum with this number of rows in its log."""
    quorum = stage.quorum(contestant)
    stage.spark(contestant).call("fill_by_client", servers=quorum.bootstrap_servers, rows=rows)
    return quorum


def filled_topic(stage: Stage, broker: Broker, *, partitions: int, rows: int) -> str:
    """Return the name of a topic with this number of rows and partitions."""
    topic = broker.create_topic(stage.new_folder("topic").name, partitions)
    stage.spark(OURS).call("fill_by_librdkafka", servers=broker.bootstrap_servers, topic=topic, rows=rows)
    return topic


def _in_words(options: dict[str, object]) -> Options:
    return {name: str(value) for name, value in options.items()}
