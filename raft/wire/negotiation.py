"""What the response to ApiVersions says: the versions that both sides support, and whether the node asks for SASL."""

from __future__ import annotations

from collections.abc import Iterator

from raft.wire.apis import API_VERSIONS, APIS, SASL_HANDSHAKE
from raft.wire.features import FEATURE_NAME
from raft.wire.messages.api_versions import ApiVersionsResponse


def older_version(refusal: ApiVersionsResponse, *, refused: int) -> int:
    """Return the highest version of ApiVersions that a refusal names; 0 if it names none below the refused one."""
    for served in refusal.api_keys:
        if served.api_key == API_VERSIONS.key and 0 <= served.max_version < refused:
            return served.max_version
    return 0


def asks_for_sasl(response: ApiVersionsResponse) -> bool:
    """Return whether a node of this project asks for SASL. Apache Kafka's names its APIs on every listener."""
    is_ours = any(feature.name == FEATURE_NAME for feature in response.supported_features)
    return is_ours and any(served.api_key == SASL_HANDSHAKE.key for served in response.api_keys)


def common_versions(response: ApiVersionsResponse) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the key of each API that both sides support, with the lowest and the highest common version (COMPAT-1)."""
    for served in response.api_keys:
        if served.api_key in APIS:
            ours = APIS[served.api_key].versions
            lowest, highest = max(served.min_version, ours.lowest), min(served.max_version, ours.highest)
            if lowest <= highest:
                yield served.api_key, (lowest, highest)
