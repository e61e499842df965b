"""What is read from the responses to requests: error codes, and the number of records."""

from __future__ import annotations

import pytest

from raft.codec import Message
from raft.metrics.error_codes import error_codes
from raft.records.header_fields import count_records
from raft.wire.apis import APIS
from raft.wire.messages.api_versions import ApiVersionsResponse
from raft.wire.messages.describe_quorum import DescribeQuorumResponse
from raft.wire.messages.fetch import FetchResponse, FetchResponsePartition, FetchResponseTopic
from raft.wire.messages.join_group import JoinGroupResponse
from raft.wire.messages.produce import ProduceResponse, ProduceResponsePartition, ProduceResponseTopic
from tests.node.harness.batches import batch_of


def produced(*codes: int) -> ProduceResponse:
    return ProduceResponse(
        responses=tuple(
            ProduceResponseTopic(
                partition_responses=(ProduceResponsePartition(index=0, error_code=code, base_offset=-1),)
            )
            for code in codes
        )
    )


def fetched(top: int, inner: int) -> FetchResponse:
    partition = FetchResponsePartition(partition_index=0, error_code=inner, high_watermark=-1, records=b"")
    return FetchResponse(error_code=top, responses=(FetchResponseTopic(partitions=(partition,)),))


@pytest.mark.parametrize(
    ("response", "codes"),
    [
        pytest.param(produced(0), [], id="success"),
        pytest.param(produced(6, 0, 87), [6, 87], id="of two partitions"),
        pytest.param(fetched(0, 1), [1], id="of a partition"),
        pytest.param(fetched(29, 6), [29, 6], id="of the whole and of a partition"),
        pytest.param(ApiVersionsResponse(error_code=35, api_keys=()), [35], id="of the whole"),
        pytest.param(DescribeQuorumResponse(error_code=0, topics=(), nodes=()), [], id="no partition"),
    ],
)
def test_error_codes_of_a_response_are_found(response: Message, codes: list[int]) -> None:
    assert error_codes(response) == codes


def test_every_response_with_an_error_code_is_read() -> None:
    """The generator of `error_codes` follows the schema, so it must know the shapes of all messages."""
    without = {
        api.name
        for api in APIS.values()
        if not error_codes_field(api.response) and api.response is not JoinGroupResponse
    }

    assert without == set()


def error_codes_field(response: type[Message]) -> bool:
    """Whether the schema names an error code anywhere."""
    return "error_code" in repr(response.__schema__.struct)


@pytest.mark.parametrize(
    ("batches", "count"),
    [
        pytest.param(b"", 0, id="nothing"),
        pytest.param(batch_of(b"a"), 1, id="one"),
        pytest.param(batch_of(b"a", b"b") + batch_of(b"c"), 3, id="two batches"),
        pytest.param(batch_of(b"a", b"b") + bytes(61), 2, id="a damaged header behind"),
    ],
)
def test_records_are_counted(batches: bytes, count: int) -> None:
    assert count_records(batches) == count


def test_no_end_of_a_batch_that_is_cut_off_raises() -> None:
    whole = batch_of(b"a", b"b")

    assert {count_records(whole[:size]) for size in range(len(whole))} <= {0, 2}
