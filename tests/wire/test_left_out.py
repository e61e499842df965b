"""Fields of drafts that no released version has, and fields that ordinary partitions ignore (rules OUT, COMPAT-9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from raft.codec import Message, decode, encode, field, message
from raft.codec.schema import Array, Struct, Structure
from raft.errors import DecodeError
from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.header_fields import MAGIC_AT
from raft.records.record import Record
from raft.wire.apis import APIS
from raft.wire.messages.fetch import EpochEndOffset, FetchResponsePartition
from raft.wire.messages.nodes import LeaderIdAndEpoch
from raft.wire.messages.vote import VoteRequest, VoteResponse
from tests.wire.catalog import PAYLOADS

VOTER_CHANGES = {80: "AddRaftVoter", 81: "RemoveRaftVoter"}

DROPPED_FIELDS = {
    *("is_follower", "first_dirty_offset", "last_caught_up_time_ms", "next_fetch_offset", "next_fetch_offset_epoch"),
    *("truncation_offset", "target_voters", "fetch_epoch"),
}


def field_names(description: Struct) -> Iterator[str]:
    """Names of all fields, those of inner structs too."""
    for each in description.fields:
        yield each.name
        inner = each.type.element if isinstance(each.type, Array) else each.type
        if isinstance(inner, Structure):
            yield from field_names(inner.struct)


@pytest.mark.parametrize("api_key", [pytest.param(key, id=name) for key, name in VOTER_CHANGES.items()])
@pytest.mark.rule("OUT-4")
def test_requests_that_change_the_voters_are_not_served(api_key: int) -> None:
    assert api_key not in APIS


@pytest.mark.rule("OUT-6", "PREVOTE-1")
def test_pre_vote_is_a_field_of_the_vote_and_no_request_of_its_own() -> None:
    asking = [api.name for api in APIS.values() if "Vote" in api.name and "Voter" not in api.name]

    assert asking == ["Vote"]
    assert "pre_vote" in field_names(VoteRequest.__struct__)


@pytest.mark.rule("PREVOTE-20")
def test_response_to_a_pre_vote_has_no_field_for_it() -> None:
    assert "pre_vote" not in field_names(VoteResponse.__struct__)


@pytest.mark.rule("OUT-11")
def test_no_message_has_a_field_of_the_first_drafts() -> None:
    names = {name for payload in PAYLOADS for name in field_names(payload.__struct__)}

    assert "last_fetched_epoch" in names
    assert not names & DROPPED_FIELDS


@message(versions="12", flexible="12+")
class OnePartition(Message):
    """One partition of a Fetch response."""

    partition: FetchResponsePartition = field(FetchResponsePartition)


@pytest.mark.rule("COMPAT-9")
def test_client_of_ordinary_partitions_ignores_the_fields_of_a_quorum() -> None:
    plain = FetchResponsePartition(partition_index=7, error_code=0, high_watermark=5, records=b"")
    telling = replace(
        plain,
        diverging_epoch=EpochEndOffset(epoch=3, end_offset=10),
        current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=5),
    )

    without_tags, with_tags = (encode(OnePartition(partition=partition), 12) for partition in (plain, telling))

    tags_at = len(without_tags) - 2
    assert with_tags[:tags_at] == without_tags[:tags_at], "the tags stand behind all that every reader knows"
    assert (without_tags[tags_at], with_tags[tags_at]) == (0, 2)
    assert decode(OnePartition, 12, with_tags).partition == telling


@pytest.mark.parametrize("magic", [0, 1, 3])
@pytest.mark.rule("COMPAT-9", "LOG-1")
def test_batch_of_another_format_cannot_be_used(magic: int) -> None:
    batch = bytearray(build_batch([Record(value=b"v")]))
    batch[MAGIC_AT] = magic

    with pytest.raises(DecodeError, match=f"batch of magic {magic}"):
        read_header(bytes(batch))
