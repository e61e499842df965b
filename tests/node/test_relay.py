"""A request that is handed on to the leader is answered, whatever comes of that."""

from __future__ import annotations

import asyncio

import pytest

from raft.codec import Message
from raft.node.requests.relay import relay_to_leader
from raft.types import Endpoint
from raft.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse

OURS = DescribeQuorumResponse(error_code=6, topics=())


@pytest.mark.parametrize("host", ["a..b", "nul\0.invalid"])
def test_leader_whose_host_cannot_be_gives_no_answer_and_the_node_its_own(host: str) -> None:
    async def relayed() -> Message:
        answered: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        relay_to_leader(
            Endpoint(host, 9093),
            DescribeQuorumRequest(topics=()),
            0,
            answered.set_result,  # type: ignore[arg-type]  # all that is called of a Respond here
            OURS,
        )
        async with asyncio.timeout(10):
            return await answered

    assert asyncio.run(relayed()) == OURS
