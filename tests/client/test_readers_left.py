"""When a session leaves a node that it fetches from for another one, and clusters of Apache Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from raft.client.session import Session
from raft.client.settings import ReadFrom
from raft.errors import ErrorCode, OffsetOutOfRangeError
from raft.types import Endpoint
from raft.wire.messages import fetch
from raft.wire.messages.metadata import MetadataResponseBroker
from tests.client import kafka
from tests.client.reading import LEADER, SECOND, THIRD, fetched, fetches, named, places, quorum, reading
from tests.client.table import PLACES, Node, Response, Table, metadata, node, session

FORGET_MS = 30_000
KAFKA_STORAGE_ERROR = 56

LAGGING = [
    pytest.param(fetched(records=b""), id="without records"),
    pytest.param(fetched(ErrorCode.OFFSET_NOT_AVAILABLE), id="behind the offset"),
    pytest.param(fetched(ErrorCode.NOT_LEADER_OR_FOLLOWER), id="a candidate"),
    pytest.param(fetched(ErrorCode.UNKNOWN_LEADER_EPOCH), id="of an older epoch, which it says"),
    pytest.param(fetched(epoch=2), id="of an older epoch"),
]


@pytest.mark.parametrize("lagging", LAGGING)
@pytest.mark.rule("READ-5", "CLIENT-16")
def test_reader_that_lags_is_asked_last_from_then_on(lagging: fetch.FetchResponse) -> None:
    table, client = quorum(second=lagging), session(1, read_from=ReadFrom.ANY)

    found = [reading(table, client).records for _ in range(2)]

    assert found == [b"of node 3"] * 2
    assert fetches(table) == places(2, 3, 3)


@pytest.mark.parametrize("lagging", LAGGING)
@pytest.mark.rule("READ-5")
def test_leader_is_asked_when_all_others_lag(lagging: fetch.FetchResponse) -> None:
    table, client = quorum(second=lagging, third=lagging), session(1, read_from=ReadFrom.ANY)

    found = reading(table, client)

    assert (found.records, found.reader) == (b"of node 1", None)
    assert fetches(table) == places(2, 3, 1)
    waits_ms = [asked.request.max_wait_ms for asked in table.asked if isinstance(asked.request, fetch.FetchRequest)]
    assert waits_ms == [100, 100, 500], "the leader may wait as long as the caller allows, the others not"
    assert table.pauses_ms == [], "each node is asked once"


@pytest.mark.parametrize(
    "response", [*LAGGING, pytest.param(fetched(ErrorCode.OFFSET_OUT_OF_RANGE), id="starts later")]
)
@pytest.mark.rule("READ-5")
def test_reader_that_lagged_is_asked_again_when_no_other_one_serves(response: fetch.FetchResponse) -> None:
    table, client = quorum(third="Connection refused"), session(1, read_from=ReadFrom.ANY)
    table.nodes[PLACES[SECOND]] = node(response, named(SECOND))

    found = [reading(table, client).reader for _ in range(2)]

    assert found == [None, PLACES[SECOND]]
    assert fetches(table) == places(2, 3, 1, 2)


FAILING = [
    pytest.param("Connection refused", id="dead"),
    pytest.param(fetched(KAFKA_STORAGE_ERROR), id="with a broken disk"),
    pytest.param(fetched(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), id="with another topic"),
    pytest.param(fetched(partitions=0), id="with a malformed response"),
]


@pytest.mark.parametrize("failing", FAILING)
@pytest.mark.rule("READ-5")
def test_reader_that_does_not_serve_is_not_asked_for_some_time(failing: Response) -> None:
    table, client = quorum(second=failing), session(1, read_from=ReadFrom.ANY)

    found = [reading(table, client).records for _ in range(3)]
    table.now_ms += FORGET_MS
    found.append(reading(table, client).records)

    assert found == [b"of node 3"] * 4
    assert fetches(table) == places(2, 3, 3, 3, 2, 3)


def frozen_after_its_lookup() -> Node:
    """A node that responds to Metadata alone."""
    knowing = node(fetched())

    return lambda request: None if isinstance(request, fetch.FetchRequest) else knowing(request)


@pytest.mark.rule("READ-5")
def test_reader_that_sends_nothing_leaves_the_leader_half_of_the_time() -> None:
    table = quorum()
    table.nodes |= dict.fromkeys(places(SECOND, THIRD), frozen_after_its_lookup())
    client = session(1, read_from=ReadFrom.ANY, request_timeout_ms=5_000)

    found = reading(table, client, timeout_ms=4_000)

    assert (found.records, found.reader) == (b"of node 1", None)
    assert fetches(table) == places(2, 3, 1)
    timeouts_ms = [asked.timeout_ms for asked in table.asked if isinstance(asked.request, fetch.FetchRequest)]
    assert 1_900 < timeouts_ms[0] <= 2_000
    assert 900 < timeouts_ms[1] <= 1_000


@pytest.mark.rule("READ-5")
def test_node_that_does_not_respond_to_its_lookup_delays_the_fetch_once() -> None:
    table = quorum()
    table.nodes[PLACES[SECOND]] = lambda _: None
    client = session(1, read_from=ReadFrom.ANY)
    began_ms = table.now_ms

    assert reading(table, client).reader == PLACES[THIRD]
    first_ms = table.now_ms - began_ms
    assert reading(table, client).reader == PLACES[THIRD]

    assert client.settings.patience_ms <= first_ms < client.settings.patience_ms + 50
    assert table.now_ms - began_ms - first_ms < 50


@pytest.mark.rule("READ-5")
def test_reader_whose_log_starts_later_does_not_decide_that_the_offset_is_gone() -> None:
    late = fetched(ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=7)
    table = quorum(second=late, third=late)

    assert reading(table, session(1, read_from=ReadFrom.ANY)).records == b"of node 1"


@pytest.mark.rule("READ-5")
def test_offset_is_out_of_range_when_the_leader_says_so() -> None:
    late = fetched(ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=7)
    table = quorum(second=late, third=late)
    table.nodes[PLACES[LEADER]] = node(fetched(ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=6))

    with pytest.raises(OffsetOutOfRangeError) as refused:
        reading(table, session(1, read_from=ReadFrom.ANY))

    assert refused.value.log_start_offset == 6


@pytest.mark.rule("READ-5", "CLIENT-16")
def test_newer_epoch_that_a_reader_names_is_sent_with_the_next_request() -> None:
    table = quorum(second=fetched(ErrorCode.FENCED_LEADER_EPOCH, epoch=5), third=fetched(epoch=5))
    client = session(1, read_from=ReadFrom.ANY)

    assert reading(table, client).reader == PLACES[THIRD]

    assert client.epoch == 5
    assert epochs_sent(table) == [3, 5]


def epochs_sent(table: Table) -> Sequence[int]:
    return [
        partition.current_leader_epoch
        for asked in table.asked
        if isinstance(asked.request, fetch.FetchRequest)
        for topic in asked.request.topics
        for partition in topic.partitions
    ]


@pytest.mark.rule("READ-5")
def test_records_are_read_while_the_leader_is_suspended() -> None:
    table, client = quorum(), session(1, read_from=ReadFrom.ANY)
    reading(table, client)
    table.nodes[PLACES[LEADER]] = lambda _: None

    assert reading(table, client).reader == PLACES[SECOND]


@pytest.mark.rule("READ-6")
def test_reader_that_sent_damaged_records_is_left() -> None:
    table, client = quorum(), session(1, read_from=ReadFrom.ANY)
    reader = reading(table, client).reader
    assert reader == PLACES[SECOND]

    client.readers.failed(reader)
    client.readers.failed(reader)

    assert reading(table, client).reader == PLACES[THIRD]


# Clusters of Apache Kafka

OBSERVER = Endpoint("observer", 9099)


def observed_cluster(*responses: Response) -> tuple[Table, kafka.Controller]:
    """A cluster of Kafka with an observer of ours, which responds to Fetch with these."""
    controller = kafka.Controller([kafka.a_batch(0, epoch=kafka.EPOCH)])
    table = kafka.a_table(controller)
    known = metadata(kafka.LEADER, epoch=kafka.EPOCH, nodes=(kafka.LEADER,))
    itself = MetadataResponseBroker(node_id=99, host=OBSERVER.host, port=OBSERVER.port)
    knows = replace(known, brokers=(*known.brokers, itself))
    table.nodes[OBSERVER] = node(*responses, knows=knows)
    return table, controller


def observing_session(read_from: ReadFrom) -> Session:
    client = session(kafka.LEADER, read_from=read_from)
    client.servers.append(OBSERVER)
    return client


@pytest.mark.rule("READ-4")
def test_observer_of_ours_serves_the_log_of_a_cluster_of_kafka() -> None:
    table, controller = observed_cluster(fetched(records=b"of the observer", epoch=kafka.EPOCH))

    found = reading(table, observing_session(ReadFrom.ANY), offset=1)

    assert (found.records, found.reader) == (b"of the observer", OBSERVER)
    assert controller.fetched == []


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(fetched(ErrorCode.OFFSET_NOT_AVAILABLE, epoch=kafka.EPOCH), id="lags"),
        pytest.param(fetched(ErrorCode.OFFSET_OUT_OF_RANGE, epoch=kafka.EPOCH), id="begins later"),
        pytest.param("Connection refused", id="is dead"),
    ],
)
@pytest.mark.rule("READ-5")
def test_controller_is_asked_when_the_observer_does_not_serve(response: Response) -> None:
    table, controller = observed_cluster(response)

    found = reading(table, observing_session(ReadFrom.ANY), offset=1)

    assert (found.records, found.reader) == (kafka.a_batch(0, epoch=kafka.EPOCH), None)
    assert [partition.fetch_offset for partition in controller.fetched] == [1]


def test_controller_alone_is_asked_by_default() -> None:
    table, controller = observed_cluster(fetched(records=b"of the observer", epoch=kafka.EPOCH))

    assert reading(table, observing_session(ReadFrom.LEADER), offset=1).reader is None
    assert [partition.fetch_offset for partition in controller.fetched] == [1]
