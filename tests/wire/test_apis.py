"""The table of APIs."""

from typing import Any

import pytest
from kio.index import load_request_schema, load_response_schema

from raft.wire.apis import API_VERSIONS, APIS, FETCH, PRODUCE, VOTE, Api

every_api = pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)


def test_table_has_the_apis_and_versions_of_kafka_4_3() -> None:
    assert {(api.name, key): str(api.versions) for key, api in APIS.items()} == {
        ("Produce", 0): "3-13",
        ("Fetch", 1): "4-18",
        ("ListOffsets", 2): "1-11",
        ("Metadata", 3): "0-13",
        ("FindCoordinator", 10): "0-6",
        ("JoinGroup", 11): "0-1",
        ("SaslHandshake", 17): "0-1",
        ("ApiVersions", 18): "0-4",
        ("InitProducerId", 22): "0-6",
        ("OffsetForLeaderEpoch", 23): "2-4",
        ("AddPartitionsToTxn", 24): "0-3",
        ("EndTxn", 26): "0-5",
        ("WriteTxnMarkers", 27): "1-2",
        ("SaslAuthenticate", 36): "0-2",
        ("Vote", 52): "0-2",
        ("BeginQuorumEpoch", 53): "0-1",
        ("EndQuorumEpoch", 54): "0-1",
        ("DescribeQuorum", 55): "0-2",
        ("FetchSnapshot", 59): "0-1",
        ("DescribeCluster", 60): "0-2",
        ("DescribeProducers", 61): "0",
        ("DescribeTransactions", 65): "0",
        ("ListTransactions", 66): "0-1",
        ("UpdateRaftVoter", 82): "0",
    }


@every_api
def test_request_and_response_agree_on_key_and_versions(api: Api[Any, Any]) -> None:
    request, response = api.request.__schema__, api.response.__schema__

    assert (request.api_key, request.versions, request.flexible) == (api.key, response.versions, response.flexible)
    assert response.api_key == api.key
    assert api.request.__name__ == f"{api.name}Request"
    assert api.response.__name__ == f"{api.name}Response"


@pytest.mark.rule("COMPAT-4")
@every_api
def test_headers_have_the_versions_that_kio_gives_them(api: Api[Any, Any]) -> None:
    for version in api.versions:
        kio_request, kio_response = load_request_schema(api.key, version), load_response_schema(api.key, version)

        assert api.request_header_version(version) == kio_request.__header_schema__.__version__
        assert api.response_header_version(version) == kio_response.__header_schema__.__version__


@pytest.mark.rule("COMPAT-4")
def test_flexible_versions_have_the_newer_headers_except_api_versions_responses() -> None:
    assert (FETCH.request_header_version(11), FETCH.response_header_version(11)) == (1, 0)
    assert (FETCH.request_header_version(12), FETCH.response_header_version(12)) == (2, 1)
    assert (VOTE.request_header_version(0), VOTE.response_header_version(0)) == (2, 1)
    assert (API_VERSIONS.request_header_version(4), API_VERSIONS.response_header_version(4)) == (2, 0)


def test_announced_versions_are_those_served_but_for_produce() -> None:
    assert str(FETCH.announced_versions) == "4-18"
    assert str(PRODUCE.announced_versions) == "0-13"
