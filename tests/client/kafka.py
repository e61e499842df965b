"""An Apache Kafka cluster as a client sees it: a table of the responses of each of its processes."""

from __future__ import annotations

from collections.abc import Sequence

from raft.codec import Message
from raft.core.log_view import LogView
from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import Epoch, Offset, OffsetAndEpoch
from raft.wire.apis import METADATA
from raft.wire.messages import describe_quorum as quorum
from raft.wire.messages import fetch
from raft.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.describe_cluster import (
    BROKER_ENDPOINTS,
    CONTROLLER_ENDPOINTS,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from raft.wire.messages.fetch_snapshot import SnapshotId
from raft.wire.messages.nodes import LeaderIdAndEpoch, Listener
from tests.client.table import CLUSTER_ID, PLACES, TOPIC, Response, Table
from tests.storage.logs import empty_snapshot

LEADER, FOLLOWER, BROKER = 1, 2, 3
EPOCH = 5


def a_batch(base_offset: int, *, epoch: int, count: int = 2, timestamp_ms: int = 0) -> bytes:
    """Records whose times are a millisecond apart."""
    records = [Record(value=b"v", timestamp_ms=timestamp_ms + at) for at in range(count)]
    return build_batch(records, base_offset=Offset(base_offset), epoch=Epoch(epoch))


class Controller:
    """A leader of an Apache Kafka cluster: the rules by which it serves Fetch, and nothing else.

    Args:
        batches: its log.
        high_watermark: None for one that was elected just now, in its first response.
        snapshots: oldest first. The log begins at 0, or at the end of the oldest one.
        starts_at_snapshot: which of the two.

    Source: Kafka KafkaRaftClient.tryCompleteFetchRequest, RaftLog.validateOffsetAndEpoch,
    KafkaRaftLog.endOffsetForEpoch.
    """

    def __init__(
        self,
        batches: Sequence[bytes],
        *,
        high_watermark: int | None = None,
        snapshots: Sequence[OffsetAndEpoch] = (),
        starts_at_snapshot: bool = False,
    ) -> None:
        self._batches = batches
        self._snapshots = snapshots
        self._view = LogView()
        if starts_at_snapshot:
            self._view.restart_at(empty_snapshot(snapshots[0]))
        for batch in batches:
            self._view.append(read_header(batch))
        self.high_watermark: int | None = self._view.end_offset if high_watermark is None else high_watermark
        self.fetched: list[fetch.FetchRequestPartition] = []

    def __call__(self, request: Message) -> Response:
        match request:
            case ApiVersionsRequest():
                return ApiVersionsResponse(error_code=0, api_keys=())
            case DescribeClusterRequest(endpoint_type=endpoint_type):
                assert endpoint_type == CONTROLLER_ENDPOINTS
                return a_cluster()
            case quorum.DescribeQuorumRequest():
                return a_quorum()
            case fetch.FetchRequest(replica_id=-1):
                ((partition,),) = (topic.partitions for topic in request.topics)
                self.fetched.append(partition)
                return self._fetch(partition)
            case _:
                raise AssertionError(f"a controller does not serve {request}")

    def _fetch(self, asked: fetch.FetchRequestPartition) -> fetch.FetchResponse:
        offset, last_epoch = Offset(asked.fetch_offset), Epoch(asked.last_fetched_epoch)
        if self._offers_snapshot(offset, last_epoch):
            latest = self._snapshots[-1]
            return self._response(snapshot_id=SnapshotId(end_offset=latest.offset, epoch=latest.epoch))
        end = self._end_of_epoch(last_epoch)
        if offset > 0 and (end.epoch != last_epoch or end.offset < offset):
            return self._response(diverging_epoch=fetch.EpochEndOffset(epoch=end.epoch, end_offset=end.offset))
        after = [batch for batch in self._batches if read_header(batch).end_offset > offset]
        return self._response(records=after[0] if after else b"")

    def _offers_snapshot(self, offset: Offset, last_epoch: Epoch) -> bool:
        """Whether the latest snapshot is offered; the earliest one decides that, wherever the log starts."""
        if not self._snapshots:
            return False
        earliest, start = self._snapshots[0], self._view.start_offset
        if offset == 0:
            return self._snapshots[-1].offset > 0
        return offset < start or (offset == start and last_epoch != earliest.epoch) or last_epoch < earliest.epoch

    def _end_of_epoch(self, epoch: Epoch) -> OffsetAndEpoch:
        end = self._view.end_of_epoch(epoch)
        is_first_known = bool(self._snapshots) and end.epoch == epoch and end.offset == self._snapshots[0].offset
        return self._snapshots[0] if is_first_known else end

    def _response(
        self,
        *,
        records: bytes = b"",
        diverging_epoch: fetch.EpochEndOffset = fetch.EpochEndOffset(),  # noqa: B008 - a value that never changes
        snapshot_id: SnapshotId = SnapshotId(end_offset=-1, epoch=-1),  # noqa: B008 - the same
    ) -> fetch.FetchResponse:
        known, self.high_watermark = self.high_watermark, self.high_watermark or self._view.end_offset
        partition = fetch.FetchResponsePartition(
            partition_index=0,
            error_code=0,
            high_watermark=-1 if known is None else known,
            log_start_offset=self._view.start_offset,
            current_leader=LeaderIdAndEpoch(leader_id=LEADER, leader_epoch=EPOCH),
            records=records,
            diverging_epoch=diverging_epoch,
            snapshot_id=snapshot_id,
        )
        return fetch.FetchResponse(responses=(fetch.FetchResponseTopic(topic=TOPIC, partitions=(partition,)),))


def a_cluster(leader: int = LEADER) -> DescribeClusterResponse:
    nodes = tuple(
        DescribeClusterBroker(broker_id=node, host=PLACES[node].host, port=PLACES[node].port)
        for node in (LEADER, FOLLOWER)
    )
    return DescribeClusterResponse(error_code=0, cluster_id=CLUSTER_ID, controller_id=leader, brokers=nodes)


def a_quorum(error: int = 0) -> quorum.DescribeQuorumResponse:
    partition = quorum.DescribeQuorumResponsePartition(
        partition_index=0,
        error_code=error,
        leader_id=LEADER,
        leader_epoch=EPOCH,
        high_watermark=9,
        current_voters=(),
        observers=(),
    )
    place = PLACES[LEADER]
    node = quorum.DescribeQuorumNode(
        node_id=LEADER, listeners=(Listener(name="CONTROLLER", host=place.host, port=place.port),)
    )
    topic = quorum.DescribeQuorumResponseTopic(topic_name=TOPIC, partitions=(partition,))
    return quorum.DescribeQuorumResponse(error_code=0, topics=(topic,), nodes=(node,))


def a_follower(request: Message) -> Response:
    """A controller that does not lead."""
    match request:
        case ApiVersionsRequest():
            return ApiVersionsResponse(error_code=0, api_keys=())
        case DescribeClusterRequest():
            return a_cluster()
        case _:
            raise AssertionError(f"only the leader is asked for {request}")


def a_broker(request: Message) -> Response:
    match request:
        case ApiVersionsRequest():
            served = ApiVersion(api_key=METADATA.key, min_version=0, max_version=13)
            return ApiVersionsResponse(error_code=0, api_keys=(served,))
        case DescribeClusterRequest(endpoint_type=endpoint_type):
            assert endpoint_type == BROKER_ENDPOINTS
            return a_cluster()
        case quorum.DescribeQuorumRequest():
            return a_quorum()
        case _:
            raise AssertionError(f"a broker does not hold the metadata: {request}")


def a_table(controller: Controller) -> Table:
    return Table({PLACES[LEADER]: controller, PLACES[FOLLOWER]: a_follower, PLACES[BROKER]: a_broker})
