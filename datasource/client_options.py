"""The options of the client of reads and writes: where the quorum is, timeouts, and how connections are secured."""

from __future__ import annotations

from datasource.option import Option, Options, Use, parse_given, value_of
from datasource.option_values import not_empty
from raft.client import ClientSettings, ReadFrom
from raft.client.settings import DEFAULT_API_TIMEOUT_MS, DEFAULT_MAX_REQUEST_BYTES, DEFAULT_REQUEST_TIMEOUT_MS
from raft.config.endpoints import addresses
from raft.config.property import as_text
from raft.config.security import CLIENT_PROPERTIES, ClientSecurity, client_security
from raft.config.values import at_least, choice_of
from raft.errors import ConfigError
from raft.types import LARGEST_BATCH_BYTES, Endpoint

_PREFIX = "kraft."
BOOTSTRAP_SERVERS = "kraft.bootstrap.servers"
READ_FROM = "kraft.read.from"
RACK = "kraft.client.rack"

CONFIG_FILE = "kraft.config"
"""Names a file with the options that are not given: see `datasource.default_options`."""


def _servers(name: str, value: str) -> tuple[Endpoint, ...]:
    found = addresses(name, value)
    if not found:
        raise ConfigError(
            f"option {name} is missing: expected host:port,..., as an option or in the file that "
            f"the environment variable KRAFT_CONFIG names, or the option {CONFIG_FILE}"
        )
    return found


# A row has two lines: what programs read, and what people read.
# fmt: off
CLIENT = {
    "bootstrap_servers": Option(BOOTSTRAP_SERVERS, _servers, (),
        "`host:port,...` of some nodes", "required", is_kafkas=True),
    "cluster_id": Option("kraft.cluster.id", not_empty, None, "refuse a quorum with another id", "any"),
    "api_timeout_ms": Option("kraft.default.api.timeout.ms", at_least(1), DEFAULT_API_TIMEOUT_MS,
        "timeout of a whole call, including elections", is_kafkas=True),
    "request_timeout_ms": Option("kraft.request.timeout.ms", at_least(1), DEFAULT_REQUEST_TIMEOUT_MS,
        "timeout of one request", is_kafkas=True),
    "connect_timeout_ms": Option("kraft.socket.connection.setup.timeout.ms", at_least(1), 10_000,
        "how long a process that has had no response of the quorum yet tries to connect before it fails",
        is_kafkas=True),
    "max_request_bytes": Option("kraft.max.request.size", at_least(1, at_most=LARGEST_BATCH_BYTES),
        DEFAULT_MAX_REQUEST_BYTES,
        "largest request of a write in bytes, up to 255 MiB; `message.max.bytes` of the nodes limits it too",
        "8 MiB", is_kafkas=True),
    "read_from": Option(READ_FROM, choice_of(ReadFrom), ReadFrom.LEADER,
        "which nodes serve the records; `nearest` needs kraft.client.rack", uses=Use.READ),
    "rack": Option(RACK, not_empty, None,
        "the rack whose nodes serve the records, with kraft.read.from=nearest", uses=Use.READ, is_kafkas=True),
}
"""The options of the client, by the fields of `ClientSettings` that have their values."""

_DEFAULT_PROTOCOL = "PLAINTEXT, or what a QuorumService of this application asks for"
SECURITY = {
    row.name: Option(f"{_PREFIX}{row.name}", as_text, None, row.meaning,
        _DEFAULT_PROTOCOL if row.name == "security.protocol" else row.shown_default, is_kafkas=True)
    for row in CLIENT_PROPERTIES
}
# fmt: on
"""The options that say how connections are secured, by the names of Kafka's clients."""

SECURITY_NAMES = tuple(row.name for row in SECURITY.values())


def security_of(options: Options) -> ClientSecurity | None:
    """Return how connections are secured; None if no option says so.

    Raises:
        ConfigError: see `client_security`.
    """
    given = parse_given(options, SECURITY)
    return client_security(given, named=lambda key: f"{_PREFIX}{key}") if given else None


def client_settings(options: Options) -> ClientSettings:
    """Return the settings of the client of a read or a write.

    Raises:
        ConfigError: a value is wrong or missing; says which, and what is expected.
    """
    if value_of(options, BOOTSTRAP_SERVERS) is None:
        _servers(BOOTSTRAP_SERVERS, "")
    defaults = {name: row.default for name, row in CLIENT.items()}
    return ClientSettings(**defaults | parse_given(options, CLIENT), security=security_of(options))
