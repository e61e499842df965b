"""The options of `format("kraft")` as types, so that editors complete their names and mypy checks names and values.

    options: KraftReadOptions = {"kraft.bootstrap.servers": servers, "maxOffsetsPerTrigger": 10_000}
    spark.readStream.format("kraft").options(**options).load()

Spark passes each value as text. `help(KraftReadOptions)` lists the options with their meanings.
"""

# ruff: noqa: N815 - the options have these names

from __future__ import annotations

import textwrap
from typing import Annotated, Literal, TypedDict, get_type_hints

_ClientOptions = TypedDict(
    "_ClientOptions",
    {
        "kraft.config": Annotated[
            str,
            "a properties file of the driver with the options that are not given, as `KRAFT_CONFIG` names one for all; "
            "KRAFT_CONFIG_PROVIDERS must allow it",
        ],
        "kraft.bootstrap.servers": Annotated[str, "required: `host:port,...` of some nodes"],
        "kraft.cluster.id": Annotated[str, "refuse a quorum with another id; default: any"],
        "kraft.default.api.timeout.ms": Annotated[int, "timeout of a whole call, including elections; default: 60000"],
        "kraft.request.timeout.ms": Annotated[int, "timeout of one request; default: 5000"],
        "kraft.socket.connection.setup.timeout.ms": Annotated[
            int,
            "how long a process that has had no response of the quorum yet tries to connect before it fails; "
            "default: 10000",
        ],
        "kraft.security.protocol": Annotated[
            Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"],
            "how connections are secured, as the listener of the nodes asks for; default: PLAINTEXT, or what a "
            "QuorumService of this application asks for",
        ],
        "kraft.ssl.truststore.type": Annotated[Literal["PEM"], "the only type that is supported; default: PEM"],
        "kraft.ssl.truststore.location": Annotated[
            str, "PEM file with the authorities that are trusted; default: those that the system trusts"
        ],
        "kraft.ssl.truststore.certificates": Annotated[str, "the same as text, instead of the file"],
        "kraft.ssl.keystore.type": Annotated[Literal["PEM"], "the only type that is supported; default: PEM"],
        "kraft.ssl.keystore.location": Annotated[str, "PEM file with private key and certificates of this client"],
        "kraft.ssl.key.password": Annotated[str, "password of the private key, as a reference such as `${env:NAME}`"],
        "kraft.ssl.enabled.protocols": Annotated[str, "versions of TLS; default: TLSv1.2,TLSv1.3"],
        "kraft.ssl.endpoint.identification.algorithm": Annotated[
            str, "`https`; or empty: the names of hosts are not checked; default: https"
        ],
        "kraft.sasl.mechanism": Annotated[
            Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], "how the client proves its name, with SASL"
        ],
        "kraft.sasl.jaas.config": Annotated[
            str, "its name and password, in Kafka's form, with the password as a reference such as `${file:PATH:KEY}`"
        ],
    },
    total=False,
)
_RequestOptions = TypedDict(
    "_RequestOptions",
    {
        "kraft.max.request.size": Annotated[
            int,
            "largest request in bytes, up to 255 MiB; default: 8 MiB; `message.max.bytes` of the nodes limits it too",
        ],
    },
    total=False,
)


_FetchOptions = TypedDict(
    "_FetchOptions",
    {
        "kraft.read.from": Annotated[
            Literal["leader", "any", "nearest"],
            "which nodes serve the records; `nearest` needs kraft.client.rack; default: leader",
        ],
        "kraft.client.rack": Annotated[str, "the rack whose nodes serve the records, with kraft.read.from=nearest"],
    },
    total=False,
)


class KraftReadOptions(_ClientOptions, _FetchOptions, total=False):
    """The options of a read, as a stream or as a batch."""

    startingOffsets: Annotated[
        Literal["earliest", "latest"] | int,
        "start of a new query; `latest` is for streams and their default, `earliest` is the default of a batch; "
        "-n starts n rows before the end",
    ]
    endingOffsets: Annotated[Literal["latest"] | int, "end of a batch, exclusive; default: latest"]
    startingTimestamp: Annotated[
        int | str,
        'start in milliseconds since 1970, or a duration before now such as "-10 minutes"; used instead of '
        "startingOffsets",
    ]
    endingTimestamp: Annotated[
        int | str, "end of a batch, exclusive, in the same forms as startingTimestamp; used instead of endingOffsets"
    ]
    startingOffsetsByTimestampStrategy: Annotated[
        Literal["error", "latest"],
        "`latest`: start at the end if no record has startingTimestamp or a later one; default: error, and latest for "
        "a duration before now",
    ]
    maxOffsetsPerTrigger: Annotated[int, "maximum rows in a micro-batch of a stream; default: all"]
    maxBytesPerTrigger: Annotated[
        int, "maximum bytes of the record batches in a micro-batch, which has at least one; default: all"
    ]
    minOffsetsPerTrigger: Annotated[int, "a micro-batch waits for this number of rows, or for maxTriggerDelay"]
    maxTriggerDelay: Annotated[
        int | str,
        'longest wait for minOffsetsPerTrigger, in milliseconds or with a unit, such as "15m"; default: 15 minutes',
    ]
    minPartitions: Annotated[int, "least number of tasks of a read; default: 1"]
    maxRecordsPerPartition: Annotated[int, "most records for a task; default: all"]
    failOnDataLoss: Annotated[
        bool,
        "true: records that are missing or cannot be decoded end the query; false: they are skipped with a warning; "
        "default: true",
    ]
    includeHeaders: Annotated[bool, "add the column `headers`; default: false"]
    includeControlRecords: Annotated[bool, "add the protocol's own records, with the column `control`; default: false"]
    view: Annotated[
        Literal["log", "latest"],
        "`latest`: only the newest record of each key as of the end of the read, none of a key whose newest value is "
        "null, and none without a key; minPartitions tasks read the whole log, each with its share of the keys; "
        "default: log",
    ]


class KraftWriteOptions(_ClientOptions, _RequestOptions, total=False):
    """The options of a write, as a stream or as a batch."""

    txnAppId: Annotated[str, "name of the writer of a batch write; needs txnVersion; default: a random name"]
    txnVersion: Annotated[int, "number of the write of this writer, which increases; needs txnAppId"]
    failOnWriteConflict: Annotated[
        bool,
        "true: a write whose key is in the log with other rows is an error; false: it counts as written, with a "
        "warning; default: true",
    ]
    readColumns: Annotated[
        Literal["refuse", "drop", "keepTimestamps"],
        "what becomes of the columns offset, timestamp and epoch, which only a read has; `keepTimestamps`: the records "
        "get the timestamps of the column; default: refuse",
    ]


def option_meanings(options: type) -> dict[str, str]:
    """Return the options of one of these types, each with its meaning."""
    hints = get_type_hints(options, include_extras=True)
    return {name: hint.__metadata__[0] for name, hint in hints.items()}


def _documented(options: type) -> str:
    """Return the docstring of one of these types, with a section of its options, for `help`."""
    meanings = "\n".join(f"{name}: {meaning}." for name, meaning in option_meanings(options).items())
    return f"{options.__doc__}\n\nOptions:\n{textwrap.indent(meanings, '    ')}\n"


for _type in (KraftReadOptions, KraftWriteOptions):
    _type.__doc__ = _documented(_type)
