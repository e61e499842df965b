"""Every well-formed request gets a response, in every version and with any values, and the node keeps running."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raft.types import ZERO_UUID
from raft.wire.apis import APIS, Api
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.codec.strategies import FEW, messages
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import CLUSTER_ID, TOPIC
from tests.node.harness.requests import OTHER_TOPIC_ID, TOPIC_ID

EDITIONS = [(api, version) for api in APIS.values() for version in api.versions]

_NAMES = st.sampled_from([TOPIC, "other", ""])
_IDS = st.sampled_from([TOPIC_ID, OTHER_TOPIC_ID, ZERO_UUID])
_PARTITIONS = st.sampled_from([0, 0, 0, 1, -1])
_FEW_NUMBERS = st.integers(-2, 4)

LIKELY: dict[str, st.SearchStrategy[object]] = {
    "name": _NAMES,
    "topic": _NAMES,
    "topic_name": _NAMES,
    "topic_id": _IDS,
    "partition": _PARTITIONS,
    "partition_index": _PARTITIONS,
    "index": _PARTITIONS,
    "leader_epoch": _FEW_NUMBERS,
    "current_leader_epoch": _FEW_NUMBERS,
    "last_fetched_epoch": _FEW_NUMBERS,
    "fetch_offset": _FEW_NUMBERS,
    "timestamp": st.integers(-8, 5),
    "cluster_id": st.sampled_from([CLUSTER_ID, "other"]),
    "replica_epoch": _FEW_NUMBERS,
    "replica_id": st.sampled_from([-2, -1, 1, 5]),
    # A second leader of an epoch would halt the node, as GEN-12 requires.
    "leader_id": st.just(-1),
    "max_wait_ms": st.integers(-1, 20),
    "timeout_ms": st.integers(-1, 20),
    # With 0 there is no response.
    "acks": st.sampled_from([-1, 1, 2]),
}
"""Values near what the node knows, so that a request gets past the first check."""


@pytest.mark.parametrize(("api", "version"), EDITIONS, ids=[f"{api.name}-v{version}" for api, version in EDITIONS])
def test_request_gets_a_response(alone: NodesInProcess, api: Api[Any, Any], version: int) -> None:
    @settings(FEW, max_examples=15)
    @given(messages(api.request, version, LIKELY))
    def ask(request: Any) -> None:
        with alone.wire(1) as wire:
            wire.ask(request, version, api.response)

    ask()
    with alone.wire(1) as wire:
        assert wire.ask(ApiVersionsRequest(), 4, ApiVersionsResponse).error_code == 0
