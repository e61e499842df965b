"""DescribeCluster: the cluster's id, nodes and leader, as `kafka-metadata-quorum` requests them."""

from raft.codec import BOOL, INT8, INT16, INT32, STRING, Message, array, field, message, struct
from raft.wire.messages.metadata import UNKNOWN_OPERATIONS

BROKER_ENDPOINTS = 1
"""Requests the nodes as brokers."""

CONTROLLER_ENDPOINTS = 2
"""Requests the nodes as controllers."""


@message(api_key=60, versions="0-2", flexible="0+")
class DescribeClusterRequest(Message):
    """Requests the nodes, as brokers or as controllers."""

    include_cluster_authorized_operations: bool = field(BOOL)
    endpoint_type: int = field(INT8, versions="1+", default=BROKER_ENDPOINTS)
    include_fenced_brokers: bool = field(BOOL, versions="2+", default=False)


@struct
class DescribeClusterBroker(Message):
    """The endpoint of a node."""

    broker_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, nullable="0+", default=None)
    is_fenced: bool = field(BOOL, versions="2+", default=False)


@message(api_key=60, versions="0-2", flexible="0+")
class DescribeClusterResponse(Message):
    """Describes the cluster; `endpoint_type` repeats the request's, `controller_id` is the leader."""

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+", default=None)
    endpoint_type: int = field(INT8, versions="1+", default=BROKER_ENDPOINTS)
    cluster_id: str = field(STRING)
    controller_id: int = field(INT32, default=-1)
    brokers: tuple[DescribeClusterBroker, ...] = field(array(DescribeClusterBroker))
    cluster_authorized_operations: int = field(INT32, default=UNKNOWN_OPERATIONS)
