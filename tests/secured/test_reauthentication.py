"""Clients go on while their sessions end again and again (`connections.max.reauth.ms`), and lose and double nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.types import Offset
from tests.java.kafka import Kafka
from tests.java.librdkafka import consume
from tests.node.harness.waiting import eventually
from tests.secured.conversations import AiokafkaConversation, ConsoleConversation, Conversation, LibrdkafkaConversation
from tests.secured.secured_quorum import SESSION_MS, SecuredQuorum
from tests.secured.ways import BRIEF_WAYS, SCRAM, Way

pytestmark = pytest.mark.java

_SESSIONS = 3
_AGAIN = "kafka_server_socket_server_metrics_successful_reauthentication_total"
_EXPIRED = "kafka_server_socket_server_metrics_expired_connections_killed_total"


@pytest.fixture
def conversations(kafka: Kafka, tmp_path: Path) -> dict[str, Conversation]:
    return {
        "Java": ConsoleConversation(kafka, tmp_path),
        "librdkafka": LibrdkafkaConversation(),
        "aiokafka": AiokafkaConversation(),
    }


def numbers(name: str, sent: list[str]) -> Iterator[str]:
    """Yield texts while the sessions of a client would have ended several times; keep them."""
    begun_s = None
    while begun_s is None or time.monotonic() < begun_s + _SESSIONS * SESSION_MS / 1000:
        sent.append(f"{name} {len(sent)}")
        yield sent[-1]
        # The first one waits for the programs, which have to start.
        begun_s = begun_s or time.monotonic()


@pytest.mark.rule("AUTH-9")
@pytest.mark.parametrize(
    ("judge", "metric"),
    [
        pytest.param("Java", _AGAIN, id="Java authenticates again"),
        pytest.param("librdkafka", _AGAIN, id="librdkafka authenticates again"),
        pytest.param("aiokafka", _EXPIRED, id="aiokafka connects again"),
    ],
)
@pytest.mark.parametrize("way", BRIEF_WAYS, ids=str)
def test_producer_and_consumer_go_on_through_several_sessions(
    quorum: SecuredQuorum, conversations: dict[str, Conversation], judge: str, metric: str, way: Way
) -> None:
    sent: list[str] = []
    start_offset, counted = quorum.end_offset(), quorum.total(metric, listener="BRIEF")

    received = conversations[judge].hold(quorum.access(way), start_offset, numbers(judge, sent))

    assert received == sent
    assert values(quorum, start_offset) == sent
    # Producer and consumer have a connection to the leader each. The last session may not have ended, and on a busy
    # machine a session may end while its client authenticates again.
    least = counted + _SESSIONS
    eventually(lambda: quorum.total(metric, listener="BRIEF") >= least, f"{metric} has grown")


def values(quorum: SecuredQuorum, start_offset: Offset) -> list[str]:
    """Return the values in the log from an offset on."""
    access = quorum.access(SCRAM)
    records = consume(access.bootstrap_servers, start_offset, access.librdkafka())
    return [record.value.decode() for record in records if record.value is not None]
