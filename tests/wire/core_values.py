"""Hypothesis strategies for the core's requests and responses, with all fields of the newest version."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from raft.core import messages as core
from raft.types import ZERO_UUID, Endpoint, Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey, Uuid
from raft.uuids import format_uuid

INT32_MAX = (1 << 31) - 1
INT64_MAX = (1 << 63) - 1

node_ids = st.integers(0, INT32_MAX).map(NodeId)
epochs = st.integers(0, INT32_MAX).map(Epoch)
offsets = st.integers(0, INT64_MAX - 1).map(Offset)
cluster_ids = st.none() | st.text(max_size=22)
errors = st.integers(-1, 200)
directory_ids: SearchStrategy[Uuid] = (
    st.binary(min_size=16, max_size=16).map(format_uuid).filter(lambda id: id != ZERO_UUID)
)
keys = st.builds(ReplicaKey, node_ids, st.none() | directory_ids)
endpoints = st.builds(Endpoint, st.text(max_size=10), st.integers(0, 65_535), st.text(max_size=10))
positions = st.builds(OffsetAndEpoch, epochs, offsets)

vote_requests = st.builds(
    core.VoteRequest,
    cluster_id=cluster_ids,
    epoch=epochs,
    candidate=keys,
    candidate_log_end=positions,
    pre_vote=st.booleans(),
    voter=st.none() | keys,
)
_announced = st.builds(
    LeaderAndEpoch, epoch=epochs, leader_id=node_ids, endpoints=st.lists(endpoints, max_size=3).map(tuple)
)
begin_requests = st.builds(
    core.BeginQuorumEpochRequest,
    cluster_id=cluster_ids,
    leader=_announced,
    voter=st.none() | keys,
)
end_requests = st.builds(
    core.EndQuorumEpochRequest,
    cluster_id=cluster_ids,
    leader=_announced,
    preferred_successors=st.lists(keys, max_size=4).map(tuple),
)
fetch_requests = st.builds(
    core.FetchRequest,
    cluster_id=cluster_ids,
    replica=keys,
    epoch=epochs,
    fetch_offset=offsets,
    last_fetched_epoch=epochs,
    max_wait_ms=st.integers(0, INT32_MAX),
    max_bytes=st.integers(0, INT32_MAX),
    high_watermark=st.none() | offsets,
    wants_high_watermark=st.just(True),
)
"""As our own replicas fetch: they always request a response when the high watermark advances."""

_one_endpoint = st.lists(st.builds(Endpoint, st.text(max_size=10), st.integers(0, 65_535)), max_size=1).map(tuple)

_leaders = st.builds(LeaderAndEpoch, epoch=epochs, leader_id=st.none() | node_ids, endpoints=_one_endpoint)

vote_responses = st.builds(
    core.VoteResponse,
    error=errors,
    leader=_leaders,
    vote_granted=st.booleans(),
)
begin_responses = st.builds(core.BeginQuorumEpochResponse, error=errors, leader=_leaders)
end_responses = st.builds(core.EndQuorumEpochResponse, error=errors, leader=_leaders)
fetch_responses = st.builds(
    core.FetchResponse,
    error=errors,
    leader=_leaders,
    high_watermark=st.none() | offsets,
    log_start_offset=offsets,
    diverging=st.none() | positions,
)
