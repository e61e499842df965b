"""Frames and records as Apache Kafka's message files prescribe and its programs fill them, byte by byte."""

import pytest

from raft.codec import Message, decode, encode
from raft.records.control_messages import (
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VoterEndpoint,
    VotersRecord,
)
from raft.types import Uuid
from raft.wire.frames import ReceivedRequest, decode_request, encode_request, encode_response
from raft.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse, SupportedFeature
from raft.wire.messages.fetch import FetchReplicaState, FetchRequest, FetchRequestPartition, FetchRequestTopic
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.messages.produce import ProduceRequest, ProduceRequestPartition, ProduceRequestTopic
from raft.wire.messages.vote import VoteRequest, VoteRequestPartition, VoteRequestTopic

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAA"
CLUSTER_ID_BYTES = "41" * 22
CLIENT_ID = "raft-client-1"
CLIENT_ID_BYTES = "000d 726166742d636c69656e742d31"

API_VERSIONS_REQUEST = f"""
    0012 0004 00000000 {CLIENT_ID_BYTES} 00         header version 2: its client id has a length of two bytes
    12 6170616368652d6b61666b612d6a617661           apache-kafka-java
    06 342e332e31                                   4.3.1
    00
"""

FETCH_REQUEST = f"""
    0001 0012 00000007 {CLIENT_ID_BYTES} 00
    000001f4 00000000 00100000 00                   at most 500 ms, from 0 to 1 MiB, all records
    00000000 ffffffff                               no session
    02 00000000000000000000000000000002             one topic, by id
    02 00000000 00000005 00000000000003e8           partition 0, epoch 5, offset 1000
    00000005 ffffffffffffffff 00000000              last epoch 5, log start -1, no limit
    02 00 10 00000000000000000000000000000009       tag 0: directory id
    01 08 00000000000003de                          tag 1: high watermark 990
    00                                              the topic's tags
    01                                              nothing forgotten
    01                                              no rack
    02 00 17 17 {CLUSTER_ID_BYTES}                  tag 0: cluster id
    01 0d 00000002 ffffffffffffffff 00              tag 1: replica state
"""

PRE_VOTE_REQUEST = f"""
    0034 0002 00000003 {CLIENT_ID_BYTES} 00
    17 {CLUSTER_ID_BYTES} 00000003                  cluster id, receiver
    02 02 74                                        one topic: t
    02 00000000 00000004 00000001                   partition 0, epoch 4, replica 1
    00000000000000000000000000000000                its directory id
    00000000000000000000000000000000                the receiver's
    00000004 0000000000000063 01                    log end: epoch 4, offset 99; a pre-vote
    00 00 00
"""

OLD_PRODUCE_REQUEST = """
    0000 0007 00000005 0007 72646b61666b61          header version 1: no tagged fields
    ffff                                            not transactional
    ffff 00001388                                   acks all, 5 s
    00000001 0005 6b72616674                        one topic: kraft
    00000001 00000000 00000003 616263               partition 0, three bytes of records
"""

OLD_METADATA_REQUEST = """
    0003 0005 00000002 0005 6d79617070
    ffffffff 01                                     all topics
"""


def frame_of(drawing: str) -> bytes:
    """The bytes of a drawing: the first column of each line, up to three spaces."""
    return b"".join(bytes.fromhex(line.strip().partition("   ")[0]) for line in drawing.splitlines())


def fetch_request() -> FetchRequest:
    partition = FetchRequestPartition(
        partition=0,
        current_leader_epoch=5,
        fetch_offset=1000,
        last_fetched_epoch=5,
        partition_max_bytes=0,
        replica_directory_id=Uuid("AAAAAAAAAAAAAAAAAAAACQ"),
        high_watermark=990,
    )
    return FetchRequest(
        cluster_id=CLUSTER_ID,
        replica_state=FetchReplicaState(replica_id=2),
        max_wait_ms=500,
        min_bytes=0,
        max_bytes=1 << 20,
        topics=(FetchRequestTopic(topic_id=Uuid("AAAAAAAAAAAAAAAAAAAAAg"), partitions=(partition,)),),
    )


def pre_vote_request() -> VoteRequest:
    partition = VoteRequestPartition(
        partition_index=0, replica_epoch=4, replica_id=1, last_offset_epoch=4, last_offset=99, pre_vote=True
    )
    topics = (VoteRequestTopic(topic_name="t", partitions=(partition,)),)
    return VoteRequest(cluster_id=CLUSTER_ID, voter_id=3, topics=topics)


def produce_request() -> ProduceRequest:
    data = (ProduceRequestPartition(index=0, records=b"abc"),)
    topics = (ProduceRequestTopic(name="kraft", partition_data=data),)
    return ProduceRequest(acks=-1, timeout_ms=5000, topic_data=topics)


@pytest.mark.parametrize(
    ("drawing", "version", "correlation_id", "client_id", "message"),
    [
        pytest.param(
            API_VERSIONS_REQUEST,
            4,
            0,
            CLIENT_ID,
            ApiVersionsRequest(client_software_name="apache-kafka-java", client_software_version="4.3.1"),
            id="ApiVersions v4 of a Java voter",
        ),
        pytest.param(FETCH_REQUEST, 18, 7, CLIENT_ID, fetch_request(), id="Fetch v18 of a Java voter"),
        pytest.param(PRE_VOTE_REQUEST, 2, 3, CLIENT_ID, pre_vote_request(), id="pre-vote of a Java voter"),
        pytest.param(OLD_PRODUCE_REQUEST, 7, 5, "rdkafka", produce_request(), id="Produce v7 of librdkafka"),
        pytest.param(OLD_METADATA_REQUEST, 5, 2, "myapp", MetadataRequest(topics=None), id="Metadata v5 of aiokafka"),
    ],
)
def test_request_has_these_bytes(
    drawing: str, version: int, correlation_id: int, client_id: str, message: Message
) -> None:
    frame = frame_of(drawing)

    received = decode_request(frame)

    assert isinstance(received, ReceivedRequest)
    assert (received.header.correlation_id, received.header.client_id) == (correlation_id, client_id)
    assert received.message == message
    assert encode_request(message, version, correlation_id=correlation_id, client_id=client_id)[4:] == frame


@pytest.mark.rule("COMPAT-4")
def test_api_versions_response_has_the_oldest_header_and_a_flexible_body() -> None:
    response = ApiVersionsResponse(
        error_code=0,
        api_keys=(ApiVersion(api_key=1, min_version=4, max_version=18),),
        supported_features=(SupportedFeature(name="kraft.version", min_version=0, max_version=1),),
    )

    frame = encode_response(response, 4, correlation_id=1)

    assert frame == frame_of("""
        00000029
        00000001                                    header version 0: no tagged fields
        0000
        02 0001 0004 0012 00
        00000000
        01 00 14 02 0e 6b726166742e76657273696f6e 0000 0001 00
    """)


DIRECTORY_ID = Uuid("AAECAwQFBgcICQoLDA0ODw")
DIRECTORY_ID_BYTES = "000102030405060708090a0b0c0d0e0f"


@pytest.mark.parametrize(
    ("value", "version", "drawing"),
    [
        pytest.param(
            LeaderChangeMessage(
                version=0,
                leader_id=1,
                voters=(LeaderChangeVoter(voter_id=1), LeaderChangeVoter(voter_id=2), LeaderChangeVoter(voter_id=3)),
                granting_voters=(LeaderChangeVoter(voter_id=1), LeaderChangeVoter(voter_id=2)),
            ),
            0,
            "0000 00000001 04 00000001 00 00000002 00 00000003 00  03 00000001 00 00000002 00 00",
            id="LeaderChange v0",
        ),
        pytest.param(
            LeaderChangeMessage(
                version=1,
                leader_id=1,
                voters=(LeaderChangeVoter(voter_id=1, voter_directory_id=DIRECTORY_ID),),
                granting_voters=(),
            ),
            1,
            f"0001 00000001 02 00000001 {DIRECTORY_ID_BYTES} 00  01 00",
            id="LeaderChange v1",
        ),
        pytest.param(KRaftVersionRecord(version=0, kraft_version=1), 0, "0000 0001 00", id="KRaftVersion"),
        pytest.param(
            VotersRecord(
                version=0,
                voters=(
                    Voter(
                        voter_id=1,
                        voter_directory_id=DIRECTORY_ID,
                        endpoints=(VoterEndpoint(name="C", host="h", port=9093),),
                        kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
                    ),
                ),
            ),
            0,
            f"0000 02 00000001 {DIRECTORY_ID_BYTES} 02 0243 0268 2385 00  0000 0001 00  00 00",
            id="Voters",
        ),
        pytest.param(
            SnapshotHeaderRecord(version=0, last_contained_log_timestamp=5), 0, "0000 0000000000000005 00", id="header"
        ),
        pytest.param(SnapshotFooterRecord(version=0), 0, "0000 00", id="footer"),
    ],
)
def test_control_record_value_has_these_bytes(value: Message, version: int, drawing: str) -> None:
    assert encode(value, version) == bytes.fromhex(drawing)
    assert decode(type(value), version, bytes.fromhex(drawing)) == value
