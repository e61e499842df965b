"""ApiVersions: the APIs and versions that a node announces."""

from __future__ import annotations

import pytest

from raft.codec import decode
from raft.errors import ErrorCode
from raft.wire.apis import API_VERSIONS, APIS, PRODUCE
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse, SupportedFeature
from tests.node.harness.loop import NodesInProcess

SERVED = {
    (0, 0, 13),
    (1, 4, 18),
    (2, 1, 11),
    (3, 0, 13),
    (10, 0, 6),
    (11, 0, 1),
    (18, 0, 4),
    (22, 0, 6),
    (23, 2, 4),
    (24, 0, 3),
    (26, 0, 5),
    (27, 1, 2),
    (52, 0, 2),
    (53, 0, 1),
    (54, 0, 1),
    (55, 0, 2),
    (59, 0, 1),
    (60, 0, 2),
    (61, 0, 0),
    (65, 0, 0),
    (66, 0, 1),
    (82, 0, 0),
}
"""Key, lowest and highest version. A listener without SASL does not name the APIs of SASL."""
OF_SASL = {(17, 0, 1), (36, 0, 2)}


@pytest.mark.parametrize("version", [*API_VERSIONS.versions])
@pytest.mark.rule("COMPAT-1")
def test_node_names_what_it_serves(alone: NodesInProcess, version: int) -> None:
    with alone.wire(1) as wire:
        response = wire.ask(ApiVersionsRequest(), version, ApiVersionsResponse)

    assert response.error_code == ErrorCode.NONE
    assert {(api.api_key, api.min_version, api.max_version) for api in response.api_keys} == SERVED
    assert {api.api_key for api in response.api_keys} == APIS.keys() - {key for key, _, _ in OF_SASL}
    assert PRODUCE.versions.lowest == 3, "what librdkafka must not hear"


@pytest.mark.parametrize(
    ("version", "features"),
    [
        (0, ()),
        (3, ()),
        (
            4,
            (
                SupportedFeature(name="kraft.spark.version", min_version=0, max_version=2),
                SupportedFeature(name="transaction.version", min_version=0, max_version=2),
            ),
        ),
    ],
)
def test_node_names_its_feature_only_to_clients_that_can_read_it(
    alone: NodesInProcess, version: int, features: tuple[SupportedFeature, ...]
) -> None:
    with alone.wire(1) as wire:
        response = wire.ask(ApiVersionsRequest(), version, ApiVersionsResponse)

    assert response.supported_features == features


@pytest.mark.parametrize("version", [5, 99, -1])
@pytest.mark.rule("COMPAT-4")
def test_node_responds_in_version_0_when_the_version_is_unknown(alone: NodesInProcess, version: int) -> None:
    header = (18).to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + (77).to_bytes(4, "big")
    request = header + b"\x00\x04test\x00 and what only the future knows"
    with alone.wire(1) as wire:
        wire.send_bytes(len(request).to_bytes(4, "big") + request)
        frame = wire.frame()
        again = wire.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)

    assert frame[:4] == (77).to_bytes(4, "big")
    refusal = decode(ApiVersionsResponse, 0, frame, 4)
    assert refusal.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert {(api.api_key, api.min_version, api.max_version) for api in refusal.api_keys} == SERVED | OF_SASL
    assert again.error_code == ErrorCode.NONE


@pytest.mark.parametrize(("key", "version"), [(1, 3), (0, 2), (12, 0), (-1, 0), (52, 3)])
def test_node_closes_the_connection_over_a_request_that_it_does_not_serve(
    alone: NodesInProcess, key: int, version: int
) -> None:
    request = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff"
    with alone.wire(1) as wire:
        wire.send_bytes(len(request).to_bytes(4, "big") + request)

        assert wire.is_closed_by_node()
