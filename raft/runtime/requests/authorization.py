"""What a caller may do, by the rules of the node.

The operation that each request needs is that of Kafka's brokers and controllers. Every caller gets the addresses of the
nodes, as in Kafka, but only who may describe the topic sees it.

Source: Kafka's KafkaApis, ControllerApis and AuthHelper.
"""

from __future__ import annotations

from raft.codec import Message
from raft.runtime.caller import Caller
from raft.runtime.requests.context import Context
from raft.security.operations import Operation
from raft.wire.messages.describe_quorum import DescribeQuorumRequest
from raft.wire.messages.describe_transactions import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from raft.wire.messages.fetch import FetchRequest
from raft.wire.messages.find_coordinator import TRANSACTION, FindCoordinatorRequest
from raft.wire.messages.init_producer_id import InitProducerIdRequest
from raft.wire.messages.list_offsets import ListOffsetsRequest
from raft.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from raft.wire.messages.produce import ProduceRequest
from raft.wire.messages.transactions import AddPartitionsToTxnRequest, EndTxnRequest
from raft.wire.messages.write_txn_markers import WriteTxnMarkersRequest


def may(context: Context, caller: Caller, operation: Operation) -> bool:
    """Return whether a caller may do an operation other than PEER."""
    return context.rules is None or context.rules().allow(caller.principal, operation)


def is_authorized(context: Context, caller: Caller, message: Message) -> bool:
    """Return whether a caller may send a request of a client. If not, it is logged and counted."""
    operation = operation_of(message)
    if operation is None or may(context, caller, operation):
        return True
    context.refuse(caller, operation, type(message).__name__)
    return False


def operation_of(message: Message) -> Operation | None:
    """Return the operation that a request of a client needs; None for a request that everyone may send."""
    match message:
        case FetchRequest() | ListOffsetsRequest() | OffsetForLeaderEpochRequest():
            return Operation.READ
        case (
            ProduceRequest()
            | InitProducerIdRequest()
            | AddPartitionsToTxnRequest()
            | EndTxnRequest()
            | WriteTxnMarkersRequest()
        ):
            return Operation.APPEND
        case FindCoordinatorRequest() if message.key_type == TRANSACTION:
            return Operation.APPEND
        case (
            DescribeQuorumRequest()
            | DescribeProducersRequest()
            | DescribeTransactionsRequest()
            | ListTransactionsRequest()
        ):
            return Operation.DESCRIBE
        case _:
            return None
