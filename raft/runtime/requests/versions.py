"""ApiVersions: the supported APIs, and the feature by which our clients know our nodes."""

from __future__ import annotations

from raft.errors import ErrorCode
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.wire.apis import APIS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from raft.wire.features import FEATURE_LEVELS, FEATURE_NAME, TRANSACTION_FEATURE, TRANSACTION_LEVEL
from raft.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeature,
    SupportedFeature,
)

_FIRST_WITH_LEVEL_ZERO = 4
"""Older Java clients fail on a feature whose range starts at 0 (KAFKA-17011)."""


_OF_SASL = frozenset((SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key))

_FEATURES_EPOCH = 0
"""The levels never change while a quorum runs."""

_TRANSACTIONS = FinalizedFeature(
    name=TRANSACTION_FEATURE, max_version_level=TRANSACTION_LEVEL, min_version_level=TRANSACTION_LEVEL
)


def api_versions(_context: Context, request: Request[ApiVersionsRequest]) -> ApiVersionsResponse:
    """Handle ApiVersions.

    The APIs for SASL are named only on a listener whose clients have to authenticate by it: by that our client knows at
    once that it lacks a name.
    """
    lowest, highest = FEATURE_LEVELS
    features = (
        SupportedFeature(name=FEATURE_NAME, min_version=lowest, max_version=highest),
        SupportedFeature(name=TRANSACTION_FEATURE, min_version=0, max_version=TRANSACTION_LEVEL),
    )
    left_out = _OF_SASL if request.caller.sasl is None else frozenset()
    shown = features if request.version >= _FIRST_WITH_LEVEL_ZERO else ()
    return _response(ErrorCode.NONE, shown, left_out=left_out)


def unsupported_api_versions() -> ApiVersionsResponse:
    """Return the response, to be sent in version 0, to ApiVersions in a version that is not supported (COMPAT-4)."""
    return _response(ErrorCode.UNSUPPORTED_VERSION, ())


def _response(
    error: ErrorCode, features: tuple[SupportedFeature, ...], left_out: frozenset[int] = frozenset()
) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=error,
        api_keys=tuple(
            ApiVersion(
                api_key=key, min_version=api.announced_versions.lowest, max_version=api.announced_versions.highest
            )
            for key, api in sorted(APIS.items())
            if key not in left_out
        ),
        supported_features=features,
        finalized_features_epoch=_FEATURES_EPOCH,
        finalized_features=(_TRANSACTIONS,),
    )
