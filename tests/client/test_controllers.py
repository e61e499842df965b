"""How a client reads from Apache Kafka's controllers, which serve Fetch to observers and not to clients."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.client import calls
from raft.client.results import FoundOffset
from raft.codec import Message
from raft.errors import (
    ConfigError,
    DecodeError,
    OffsetOutOfRangeError,
    QuorumUnavailableError,
    RequestError,
    error_name,
)
from raft.types import Epoch, Offset, OffsetAndEpoch
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from raft.wire.messages.describe_quorum import DescribeQuorumRequest
from raft.wire.messages.fetch import FetchRequest, FetchRequestPartition, FetchRequestTopic, FetchResponse
from raft.wire.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsetsResponse,
    ListOffsetsResponsePartition,
    ListOffsetsResponseTopic,
)
from raft.wire.messages.nodes import Listener
from tests.client.kafka import (
    BROKER,
    EPOCH,
    FOLLOWER,
    LEADER,
    Controller,
    a_batch,
    a_cluster,
    a_follower,
    a_quorum,
    a_table,
)
from tests.client.table import CLUSTER_ID, PLACES, TOPIC, Response, Table, metadata, node, session
from tests.records.samples import with_field

LOG = (a_batch(0, epoch=1), a_batch(2, epoch=1), a_batch(4, epoch=5))
"""Six records; epoch 5 begins at offset 4."""


def response_at(offset: int) -> ListOffsetsResponse:
    partition = ListOffsetsResponsePartition(partition_index=0, error_code=0, offset=offset, leader_epoch=4)
    return ListOffsetsResponse(topics=(ListOffsetsResponseTopic(name=TOPIC, partitions=(partition,)),))


@pytest.mark.parametrize("server", [LEADER, FOLLOWER, BROKER])
def test_leader_is_found_through_any_server(server: int) -> None:
    asking = session(server)
    table = a_table(Controller(LOG))

    fetched = table.run(calls.fetch_committed(asking, table.deadline(), Offset(2), max_bytes=100, max_wait_ms=0))

    assert (fetched.records, fetched.last_stable_offset, fetched.log_start_offset) == (LOG[1], 6, 0)
    assert (asking.cluster_id, asking.epoch) == (CLUSTER_ID, EPOCH)


@pytest.mark.parametrize("server", [LEADER, FOLLOWER])
def test_leader_is_asked_by_the_listener_through_which_it_was_found(server: int) -> None:
    controller = Controller(LOG)
    others = (Listener(name="OTHER", host="other.example.org", port=1),)
    described = replace(a_quorum(), nodes=tuple(replace(each, listeners=others) for each in a_quorum().nodes))

    def leader(request: Message) -> Response:
        return described if isinstance(request, DescribeQuorumRequest) else controller(request)

    table = Table({PLACES[LEADER]: leader, PLACES[FOLLOWER]: a_follower})

    found = table.run(calls.find_offset(session(server), table.deadline(300), LATEST_TIMESTAMP))

    assert found is not None
    assert found.offset == 6


def test_records_above_the_high_watermark_are_not_returned() -> None:
    table = a_table(Controller([*LOG[:2], LOG[2]], high_watermark=5))
    asking = session()

    below = table.run(calls.fetch_committed(asking, table.deadline(), Offset(2), max_bytes=100, max_wait_ms=0))
    above = table.run(calls.fetch_committed(asking, table.deadline(), Offset(4), max_bytes=100, max_wait_ms=0))

    assert (below.records, above.records) == (LOG[1], b"")


def test_fetch_is_repeated_while_the_leader_does_not_know_the_high_watermark() -> None:
    controller = Controller(LOG)
    controller.high_watermark = None
    table = a_table(controller)

    found = table.run(calls.find_offset(session(), table.deadline(), LATEST_TIMESTAMP))

    assert found == FoundOffset(offset=Offset(6), epoch=Epoch(EPOCH))
    assert table.pauses_ms == [50]


def test_beginning_is_read_though_a_snapshot_is_offered_in_its_place() -> None:
    controller = Controller(LOG, snapshots=[OffsetAndEpoch(offset=Offset(4), epoch=Epoch(1))])
    table = a_table(controller)

    fetched = table.run(calls.fetch_committed(session(), table.deadline(), Offset(0), max_bytes=100, max_wait_ms=0))

    assert fetched.records == LOG[0]
    assert [asked.fetch_offset for asked in controller.fetched] == [0, 1]


def test_log_is_read_from_where_it_begins_behind_a_snapshot() -> None:
    snapshot = OffsetAndEpoch(offset=Offset(4), epoch=Epoch(1))
    controller = Controller(LOG[2:], snapshots=[snapshot], starts_at_snapshot=True)
    table = a_table(controller)
    asking = session()

    start = table.run(calls.find_offset(asking, table.deadline(), EARLIEST_TIMESTAMP))
    fetched = table.run(calls.fetch_committed(asking, table.deadline(), Offset(4), max_bytes=100, max_wait_ms=0))

    assert start is not None
    assert (start.offset, fetched.records, fetched.log_start_offset) == (4, LOG[2], 4)
    assert controller.fetched[-1].last_fetched_epoch == 1, "that of the snapshot, as the leader wants it there"


@pytest.mark.parametrize("oldest_epoch", [1, 2, 3, 4, 5])
def test_first_record_left_is_read_though_newer_snapshots_are_there(oldest_epoch: int) -> None:
    oldest = OffsetAndEpoch(offset=Offset(4), epoch=Epoch(oldest_epoch))
    newest = OffsetAndEpoch(offset=Offset(6), epoch=Epoch(EPOCH))
    batches = [a_batch(4, epoch=5, count=1), a_batch(5, epoch=5)]
    table = a_table(Controller(batches, snapshots=[oldest, newest], starts_at_snapshot=True))

    fetched = table.run(calls.fetch_committed(session(), table.deadline(), Offset(4), max_bytes=100, max_wait_ms=0))

    assert fetched.records == batches[0]


def test_first_record_of_all_is_left_out_when_it_is_alone_in_its_batch_and_a_snapshot_is_there() -> None:
    batches = [a_batch(0, epoch=1, count=1), a_batch(1, epoch=EPOCH)]
    table = a_table(Controller(batches, snapshots=[OffsetAndEpoch(offset=Offset(3), epoch=Epoch(EPOCH))]))

    fetched = table.run(calls.fetch_committed(session(), table.deadline(), Offset(0), max_bytes=100, max_wait_ms=0))

    assert fetched.records == batches[1]


@pytest.mark.parametrize("offset", [3, 7, 1 << 40])
def test_offset_that_is_not_there_is_out_of_range(offset: int) -> None:
    snapshot = OffsetAndEpoch(offset=Offset(4), epoch=Epoch(1))
    table = a_table(Controller(LOG[2:], snapshots=[snapshot], starts_at_snapshot=True))

    with pytest.raises(
        OffsetOutOfRangeError, match=f"offset {offset} is out of range: the log holds 4 to 6"
    ) as refused:
        table.run(calls.fetch_committed(session(), table.deadline(), Offset(offset), max_bytes=100, max_wait_ms=0))

    assert (refused.value.log_start_offset, refused.value.high_watermark) == (4, 6)


@pytest.mark.parametrize(
    ("epoch", "high_watermark", "expected"),
    [
        pytest.param(5, 6, (5, 6), id="the leader's own"),
        pytest.param(5, 5, (5, 5), id="as far as it is committed"),
        pytest.param(1, 6, (1, 4), id="an older one"),
        pytest.param(3, 6, (1, 4), id="one that wrote nothing"),
        pytest.param(6, 6, None, id="one that has not begun"),
    ],
)
def test_end_of_an_epoch_is_in_the_response_to_a_fetch_beyond_the_log(
    epoch: int, high_watermark: int, expected: tuple[int, int] | None
) -> None:
    table = a_table(Controller(LOG, high_watermark=high_watermark))

    end = table.run(calls.end_of_epoch(session(), table.deadline(), Epoch(epoch)))

    assert end == (None if expected is None else OffsetAndEpoch(epoch=Epoch(expected[0]), offset=Offset(expected[1])))


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        pytest.param(1, (5, 6), id="older than the oldest snapshot: the newest one"),
        pytest.param(2, (5, 6), id="just before the oldest snapshot"),
        pytest.param(3, (3, 4), id="of the oldest snapshot"),
        pytest.param(5, (5, 8), id="the leader's own"),
    ],
)
def test_end_of_a_newer_epoch_is_returned_for_one_older_than_all_snapshots(
    epoch: int, expected: tuple[int, int]
) -> None:
    batches = [a_batch(0, epoch=1), a_batch(2, epoch=3), a_batch(4, epoch=5), a_batch(6, epoch=5)]
    snapshots = [
        OffsetAndEpoch(offset=Offset(4), epoch=Epoch(3)),
        OffsetAndEpoch(offset=Offset(6), epoch=Epoch(5)),
    ]
    table = a_table(Controller(batches, snapshots=snapshots))

    end = table.run(calls.end_of_epoch(session(), table.deadline(), Epoch(epoch)))

    assert end == OffsetAndEpoch(epoch=Epoch(expected[0]), offset=Offset(expected[1]))


@pytest.mark.parametrize(
    ("timestamp_ms", "expected"),
    [
        pytest.param(0, FoundOffset(offset=Offset(0), epoch=Epoch(1)), id="the first"),
        pytest.param(101, FoundOffset(offset=Offset(3), epoch=Epoch(1)), id="within a batch"),
        pytest.param(150, FoundOffset(offset=Offset(4), epoch=Epoch(5)), id="between two"),
        pytest.param(300, None, id="later than all"),
    ],
)
def test_offset_of_a_time_is_found_by_reading(timestamp_ms: int, expected: FoundOffset | None) -> None:
    batches = [
        a_batch(0, epoch=1, timestamp_ms=0),
        a_batch(2, epoch=1, timestamp_ms=100),
        a_batch(4, epoch=5, timestamp_ms=200),
    ]
    table = a_table(Controller(batches))

    assert table.run(calls.find_offset(session(), table.deadline(), timestamp_ms)) == expected


def test_batch_whose_header_alone_has_the_time_is_passed_over() -> None:
    """A header may name a later time than its records have, because leaders did not always check that."""
    max_timestamp_at = 35
    batches = [with_field(a_batch(0, epoch=5), max_timestamp_at, ">q", 1_000), a_batch(2, epoch=5, timestamp_ms=500)]
    table = a_table(Controller(batches))

    found = table.run(calls.find_offset(session(), table.deadline(), 500))

    assert found == FoundOffset(offset=Offset(2), epoch=Epoch(5))


def test_search_for_a_time_ends_at_a_batch_that_is_not_committed_as_a_whole() -> None:
    table = a_table(Controller([a_batch(0, epoch=5)], high_watermark=1))

    assert table.run(calls.find_offset(session(), table.deadline(), 0)) is None


@pytest.mark.parametrize(
    ("response", "error"),
    [
        pytest.param(FetchResponse(error_code=6, responses=()), QuorumUnavailableError, id="leads no more"),
        pytest.param(FetchResponse(error_code=31, responses=()), RequestError, id="refuses"),
    ],
)
def test_error_of_a_whole_fetch_is_an_error_of_the_controller(response: FetchResponse, error: type[Exception]) -> None:
    controller = Controller(LOG)
    table = a_table(controller)
    table.nodes[PLACES[LEADER]] = lambda request: response if isinstance(request, FetchRequest) else controller(request)

    with pytest.raises(error, match=error_name(response.error_code)):
        table.run(calls.fetch_committed(session(), table.deadline(300), Offset(2), max_bytes=100, max_wait_ms=0))


def test_controller_that_does_not_say_where_an_epoch_ends_is_refused() -> None:
    controller = Controller(LOG)
    records = controller(fetch_at(Offset(2)))
    table = a_table(controller)
    table.nodes[PLACES[LEADER]] = lambda request: records if isinstance(request, FetchRequest) else controller(request)

    with pytest.raises(DecodeError, match="no end of epoch 1 in the response"):
        table.run(calls.end_of_epoch(session(), table.deadline(), Epoch(1)))


def fetch_at(offset: Offset) -> FetchRequest:
    partition = FetchRequestPartition(
        partition=0, fetch_offset=offset, last_fetched_epoch=EPOCH, partition_max_bytes=1, current_leader_epoch=EPOCH
    )
    topic = FetchRequestTopic(topic=TOPIC, partitions=(partition,))
    return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1, topics=(topic,))


def test_nothing_is_written_to_controllers() -> None:
    table = a_table(Controller(LOG))
    asking = session()

    assert table.run(calls.feature_level(asking, table.deadline())) == 0
    with pytest.raises(ConfigError, match=f"cluster {CLUSTER_ID} is an Apache Kafka cluster"):
        table.run(calls.append(asking, table.deadline(), b"a batch"))
    with pytest.raises(ConfigError, match="only its own controllers write it"):
        table.run(calls.new_producer_id(asking, table.deadline()))


OBSERVER = FOLLOWER


def an_observed_table(controller: Controller) -> Table:
    """A cluster of Kafka's that a node of this project observes: the node names the controller as leader."""
    observer = node(knows=metadata(LEADER, epoch=EPOCH, nodes=(LEADER, OBSERVER)))
    return Table({PLACES[LEADER]: controller, PLACES[OBSERVER]: observer})


def test_node_that_observes_a_cluster_leads_readers_to_the_controllers() -> None:
    table = an_observed_table(Controller(LOG))
    asking = session(OBSERVER)

    end = table.run(calls.find_offset(asking, table.deadline(), LATEST_TIMESTAMP))
    fetched = table.run(calls.fetch_committed(asking, table.deadline(), Offset(2), max_bytes=100, max_wait_ms=0))

    assert end == FoundOffset(offset=Offset(6), epoch=Epoch(EPOCH))
    assert fetched.records == LOG[1]
    assert table.places_asked == [PLACES[OBSERVER], PLACES[LEADER], PLACES[LEADER]]


def test_node_that_observes_a_cluster_leads_no_writer_to_the_controllers() -> None:
    table = an_observed_table(Controller(LOG))
    asking = session(OBSERVER, LEADER)

    assert table.run(calls.feature_level(asking, table.deadline())) == 0
    with pytest.raises(ConfigError, match=f"cluster {CLUSTER_ID} is an Apache Kafka cluster"):
        table.run(calls.append(asking, table.deadline(), b"a batch"))


def test_leader_that_an_observer_names_and_that_is_gone_is_looked_for_again() -> None:
    table = an_observed_table(Controller(LOG))
    del table.nodes[PLACES[LEADER]]

    with pytest.raises(QuorumUnavailableError, match=r"no response from the leader .* node1:9091: Connection refused"):
        table.run(calls.find_offset(session(OBSERVER), table.deadline(300), LATEST_TIMESTAMP))

    assert table.places_asked[:4] == [PLACES[OBSERVER], PLACES[LEADER]] * 2


def test_leader_that_is_suspended_before_it_names_its_software_is_replaced_by_a_newer_one() -> None:
    """A new session gets the suspended leader from its followers, whose fetch timeouts have not expired yet."""
    leads = metadata(2, epoch=4)
    table = Table(
        {
            PLACES[1]: lambda _: None,
            PLACES[2]: node(response_at(7), knows=[metadata(1, epoch=3), metadata(1, epoch=3), leads]),
            PLACES[3]: node(knows=[metadata(1, epoch=3), leads]),
        }
    )
    asking = session(3)

    found = table.run(calls.find_offset(asking, table.deadline(), LATEST_TIMESTAMP))

    assert found is not None
    assert found.offset == 7
    assert table.given_up == [PLACES[1]]


def test_controllers_without_the_configured_topic_are_refused() -> None:
    table = a_table(Controller(LOG))

    with pytest.raises(
        ConfigError, match="an Apache Kafka cluster's quorum does not host topic events; its topics: __cluster_metadata"
    ):
        table.run(calls.find_offset(session(topic="events"), table.deadline(), LATEST_TIMESTAMP))


@pytest.mark.parametrize(
    ("responses", "trouble"),
    [
        pytest.param([a_cluster(leader=-1)], "knows no leader", id="no leader"),
        pytest.param([a_cluster(leader=BROKER)], "knows no leader", id="a leader without an endpoint"),
        pytest.param(
            [DescribeClusterResponse(error_code=5, cluster_id="", brokers=())], "LEADER_NOT_AVAILABLE", id="error"
        ),
        pytest.param(["Connection reset"], "Connection reset", id="lost"),
        pytest.param([a_cluster(), a_quorum(error=6)], "NOT_LEADER_OR_FOLLOWER", id="leads no more"),
        pytest.param([a_cluster(), "Connection reset"], "Connection reset", id="lost at the second question"),
        pytest.param([a_cluster(), replace(a_quorum(), nodes=())], "does not say where the leader listens", id="3.8"),
    ],
)
def test_controllers_without_a_leader_are_tried_until_the_timeout(responses: list[Response], trouble: str) -> None:
    def controller(request: Message) -> Response:
        match request:
            case ApiVersionsRequest():
                return ApiVersionsResponse(error_code=0, api_keys=())
            case DescribeClusterRequest():
                return responses[0]
            case _:
                return responses[1]

    table = Table({PLACES[LEADER]: controller, PLACES[FOLLOWER]: controller})

    with pytest.raises(QuorumUnavailableError, match=f"no leader found within 300 ms: .*{trouble}"):
        table.run(calls.find_offset(session(LEADER), table.deadline(300), LATEST_TIMESTAMP))
