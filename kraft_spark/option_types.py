"""The options of `format("kraft")` as types, so that editors complete their names and mypy checks names and values.

    options: KraftReadOptions = {"kraft.bootstrap.servers": servers, "maxOffsetsPerTrigger": 10_000}
    spark.readStream.format("kraft").options(**options).load()

Spark passes each value as text. `help(KraftReadOptions)` lists the options with their meanings, which are those of the
table in `datasource.options`.
"""

# ruff: noqa: N815 - the options have these names

from __future__ import annotations

from typing import Literal, TypedDict, get_type_hints

from datasource.options import BY_LOWERED_NAME

_ClientOptions = TypedDict(
    "_ClientOptions",
    {
        "kraft.config": str,
        "kraft.bootstrap.servers": str,
        "kraft.cluster.id": str,
        "kraft.default.api.timeout.ms": int,
        "kraft.request.timeout.ms": int,
        "kraft.socket.connection.setup.timeout.ms": int,
        "kraft.max.request.size": int,
        "kraft.security.protocol": Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"],
        "kraft.ssl.truststore.type": Literal["PEM"],
        "kraft.ssl.truststore.location": str,
        "kraft.ssl.truststore.certificates": str,
        "kraft.ssl.keystore.type": Literal["PEM"],
        "kraft.ssl.keystore.location": str,
        "kraft.ssl.key.password": str,
        "kraft.ssl.enabled.protocols": str,
        "kraft.ssl.endpoint.identification.algorithm": str,
        "kraft.sasl.mechanism": Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"],
        "kraft.sasl.jaas.config": str,
    },
    total=False,
)
_FetchOptions = TypedDict(
    "_FetchOptions",
    {"kraft.read.from": Literal["leader", "any", "nearest"], "kraft.client.rack": str},
    total=False,
)


class KraftReadOptions(_ClientOptions, _FetchOptions, total=False):
    """The options of a read, as a stream or as a batch."""

    startingOffsets: Literal["earliest", "latest"] | int
    endingOffsets: Literal["latest"] | int
    startingTimestamp: int | str
    endingTimestamp: int | str
    startingOffsetsByTimestampStrategy: Literal["error", "latest"]
    maxOffsetsPerTrigger: int
    maxBytesPerTrigger: int
    minOffsetsPerTrigger: int
    maxTriggerDelay: int | str
    minPartitions: int
    maxRecordsPerPartition: int
    failOnDataLoss: bool
    includeHeaders: bool
    includeControlRecords: bool
    view: Literal["log", "latest"]


class KraftWriteOptions(_ClientOptions, total=False):
    """The options of a write, as a stream or as a batch."""

    txnAppId: str
    txnVersion: int
    failOnWriteConflict: bool
    readColumns: Literal["refuse", "drop", "keepTimestamps"]


def _documented(options: type) -> str:
    """Return the docstring of one of these types, with a section of its options, for `help`."""
    lines = []
    for row in (BY_LOWERED_NAME[name.lower()] for name in get_type_hints(options)):
        default = {"": "", "required": "; required"}.get(row.shown_default, f"; default: {row.shown_default}")
        lines.append(f"    {row.name}: {row.meaning}{default}.\n")
    return f"{options.__doc__}\n\nOptions:\n{''.join(lines)}"


for _type in (KraftReadOptions, KraftWriteOptions):
    _type.__doc__ = _documented(_type)
