"""Waiting until a quorum is idle."""

from __future__ import annotations

from collections.abc import Collection

from raft.client import Client
from raft.client.results import QuorumDescription
from raft.types import Offset
from tests.hang import HANG_S
from tests.node.harness.waiting import eventually


def settled(client: Client, among: Collection[int], *, within_s: float = HANG_S) -> QuorumDescription:
    """Wait until these voters hold the whole log and it is committed; return how the quorum looks then."""

    def look() -> QuorumDescription | None:
        described = client.describe_quorum()
        ends: dict[int, Offset | None] = {voter.node_id: voter.log_end_offset for voter in described.voters}
        return described if {described.high_watermark} == {ends[node_id] for node_id in among} else None

    return eventually(look, f"voters {sorted(among)} hold the whole log", within_s=within_s)
