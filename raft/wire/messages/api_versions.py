"""ApiVersions: the first request on every connection; its response has the APIs and versions of the node."""

from raft.codec import BOOL, INT16, INT32, INT64, STRING, Message, array, field, message, struct


@message(api_key=18, versions="0-4", flexible="3+")
class ApiVersionsRequest(Message):
    """Requests the APIs of the node, and names the software of the client (COMPAT-1, COMPAT-4)."""

    client_software_name: str = field(STRING, versions="3+", default="", ignorable=True)
    client_software_version: str = field(STRING, versions="3+", default="", ignorable=True)


@struct
class ApiVersion(Message):
    """An API and the range of its versions that the node serves, both ends included."""

    api_key: int = field(INT16)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


@struct
class SupportedFeature(Message):
    """A feature and the range of levels that the node could run at.

    Below version 4 a feature whose range starts at 0 must be left out: older Java clients fail on it (KAFKA-17011).
    """

    name: str = field(STRING)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


@struct
class FinalizedFeature(Message):
    """A feature and the range of levels that the cluster runs at."""

    name: str = field(STRING)
    max_version_level: int = field(INT16)
    min_version_level: int = field(INT16)


@message(api_key=18, versions="0-4", flexible="3+")
class ApiVersionsResponse(Message):
    """Lists what the node serves. Its header always has version 0."""

    error_code: int = field(INT16)
    api_keys: tuple[ApiVersion, ...] = field(array(ApiVersion))
    throttle_time_ms: int = field(INT32, versions="1+", default=0, ignorable=True)
    supported_features: tuple[SupportedFeature, ...] = field(
        array(SupportedFeature), versions="3+", tag=0, default=(), ignorable=True
    )
    finalized_features_epoch: int = field(INT64, versions="3+", tag=1, default=-1, ignorable=True)
    finalized_features: tuple[FinalizedFeature, ...] = field(
        array(FinalizedFeature), versions="3+", tag=2, default=(), ignorable=True
    )
    zk_migration_ready: bool = field(BOOL, versions="3+", tag=3, default=False, ignorable=True)
