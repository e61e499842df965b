"""The configuration that properties give, and the properties that are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from raft.config import NodeConfig, parse_overrides, read_properties
from raft.config.listener_security import SECURITY_PROPERTIES, ListenerSecurity
from raft.config.node import NODE_PROPERTIES, WITHOUT_EFFECT
from raft.config.values import refuse
from raft.errors import ConfigError
from raft.types import CleanupPolicy, Endpoint, NodeId, Uuid

CONF = Path(__file__).parents[2] / "conf"

LEAST = {
    "node.id": "1",
    "controller.quorum.voters": "1@one:9093,2@two:9094,3@[::1]:9095",
    "listeners": "CONTROLLER://one:9093",
    "log.dirs": "/var/lib/kraft",
    "cluster.id": "kq5mZl0zT0uJwXUxQKo9gQ",
}


def config(**changes: str | None) -> NodeConfig:
    """The least configuration with changes, whose keys have "__" for the dots; None removes a key."""
    changed = LEAST | {key.replace("__", "."): value for key, value in changes.items()}
    return NodeConfig.from_properties({key: value for key, value in changed.items() if value is not None})


@pytest.mark.rule("TIMER-1")
def test_least_configuration_has_kafkas_defaults() -> None:
    least = config()

    assert least == NodeConfig(
        node_id=NodeId(1),
        cluster_id="kq5mZl0zT0uJwXUxQKo9gQ",
        voters={
            NodeId(1): Endpoint("one", 9093),
            NodeId(2): Endpoint("two", 9094),
            NodeId(3): Endpoint("::1", 9095),
        },
        listener=Endpoint("one", 9093, "CONTROLLER"),
        advertised=Endpoint("one", 9093, "CONTROLLER"),
        security={"CONTROLLER": ListenerSecurity()},
        log_dir=Path("/var/lib/kraft"),
        bootstrap_servers=(),
        election_timeout_ms=1000,
        fetch_timeout_ms=2000,
        election_backoff_max_ms=1000,
        request_timeout_ms=2000,
        retry_backoff_ms=20,
        fetch_max_bytes=1 << 20,
        segment_bytes=1 << 30,
        message_max_bytes=8 << 20,
        queued_max_request_bytes=64 << 20,
        socket_request_max_bytes=None,
        max_connections=1000,
        connections_max_idle_ms=600_000,
        failed_authentication_delay_ms=100,
        topic_name="__cluster_metadata",
        topic_id=Uuid("AAAAAAAAAAAAAAAAAAAAAQ"),
        rack=None,
        records_strict=False,
        warnings=(),
    )


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("node.id", "2147483647", "node_id", 2147483647),
        ("cluster.id", "any words", "cluster_id", "any words"),
        ("controller.quorum.voters", " 5@h:1 , 6@g:2 ", "voters", {5: Endpoint("h", 1), 6: Endpoint("g", 2)}),
        (
            "controller.quorum.bootstrap.servers",
            "h:1,[fe80::1]:2",
            "bootstrap_servers",
            (Endpoint("h", 1), Endpoint("fe80::1", 2)),
        ),
        ("controller.quorum.election.timeout.ms", "10", "election_timeout_ms", 10),
        ("controller.quorum.fetch.timeout.ms", "11", "fetch_timeout_ms", 11),
        ("controller.quorum.election.backoff.max.ms", "0", "election_backoff_max_ms", 0),
        ("controller.quorum.request.timeout.ms", "12", "request_timeout_ms", 12),
        ("controller.quorum.retry.backoff.ms", "1", "retry_backoff_ms", 1),
        ("controller.quorum.fetch.max.bytes", "1", "fetch_max_bytes", 1),
        ("metadata.log.segment.bytes", "8388608", "segment_bytes", 8388608),
        ("message.max.bytes", "267386880", "message_max_bytes", 255 << 20),
        ("queued.max.request.bytes", "8388608", "queued_max_request_bytes", 8388608),
        ("socket.request.max.bytes", "104857600", "socket_request_max_bytes", 104857600),
        ("max.connections", "1", "max_connections", 1),
        ("connections.max.idle.ms", "1", "connections_max_idle_ms", 1),
        ("connection.failed.authentication.delay.ms", "0", "failed_authentication_delay_ms", 0),
        ("connection.failed.authentication.delay.ms", "10000", "failed_authentication_delay_ms", 10_000),
        ("broker.rack", "zone-a", "rack", "zone-a"),
        ("raft.topic.name", "__raft_performance_test", "topic_name", "__raft_performance_test"),
        ("raft.topic.id", "AAAAAAAAAAAAAAAAAAAAAg", "topic_id", "AAAAAAAAAAAAAAAAAAAAAg"),
        ("raft.records.strict", "TRUE", "records_strict", True),
        ("raft.records.strict", "false", "records_strict", False),
    ],
)
def test_key_is_taken(key: str, text: str, field: str, value: object) -> None:
    assert getattr(config(**{key: text}), field) == value


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("node.id", "one", "0 to 2147483647"),
        ("node.id", "-1", "0 to 2147483647"),
        ("node.id", "1.5", "0 to 2147483647"),
        ("node.id", "2147483648", "0 to 2147483647"),
        ("connection.failed.authentication.delay.ms", "-1", "0 to 2147483647"),
        ("process.roles", "broker,controller", "controller"),
        ("process.roles", "broker", "controller"),
        ("controller.quorum.voters", "one:9093", "id@host:port,id@host:port,... with each id once"),
        ("controller.quorum.voters", "x@one:9093", "id@host:port,id@host:port,... with each id once"),
        ("controller.quorum.voters", "-1@one:9093", "id@host:port,id@host:port,... with each id once"),
        ("controller.quorum.voters", "2147483648@one:1", "id@host:port,id@host:port,... with each id once"),
        ("controller.quorum.voters", "1@one:1,1@two:2", "id@host:port,id@host:port,... with each id once"),
        ("controller.quorum.bootstrap.servers", "one", "host:port with a port of 1 to 65535"),
        ("controller.quorum.bootstrap.servers", "one:0", "host:port with a port of 1 to 65535"),
        ("controller.quorum.bootstrap.servers", "one:65536", "host:port with a port of 1 to 65535"),
        ("controller.quorum.bootstrap.servers", "::1:9093", "host:port with a port of 1 to 65535"),
        ("controller.quorum.voters", "1@one:1,2@0.0.0.0:1", "addresses that other nodes can connect to, not 0.0.0.0"),
        ("controller.quorum.voters", "1@one:1,2@[::]:1", "addresses that other nodes can connect to, not ::"),
        ("controller.quorum.voters", "1@one:1,2@two:1,3@ONE:1", "each address once, because each voter is a process"),
        ("controller.quorum.election.timeout.ms", "-1", "10 to 2147483647"),
        ("controller.quorum.fetch.timeout.ms", "2s", "10 to 2147483647"),
        ("controller.quorum.election.backoff.max.ms", "x", "0 to 2147483647"),
        ("controller.quorum.request.timeout.ms", "-5", "10 to 2147483647"),
        ("controller.quorum.retry.backoff.ms", "1e3", "1 to 2147483647"),
        ("controller.quorum.fetch.max.bytes", "0", "1 to 2147483647"),
        ("metadata.log.segment.bytes", "8388607", "8388608 to 2147483647"),
        ("metadata.log.segment.bytes", "2147483648", "8388608 to 2147483647"),
        ("message.max.bytes", "0", "1 to 267386880"),
        ("message.max.bytes", "267386881", "1 to 267386880"),
        ("queued.max.request.bytes", "0", "1 to 2147483647"),
        ("socket.request.max.bytes", "-1", "1 to 2147483647"),
        ("max.connections", "0", "1 to 2147483647"),
        ("max.connections", "1_000", "1 to 2147483647"),
        ("connections.max.idle.ms", "0", "1 to 2147483647"),
        ("raft.topic.id", "AAAA", "16 bytes as 22 characters of base64url, such as AAAAAAAAAAAAAAAAAAAAAQ"),
        ("raft.topic.id", "AAAAAAAAAAAAAAAAAAAAAR", "16 bytes as 22 characters of base64url, such as"),
        ("raft.topic.id", "no base64 at all, \xe4", "16 bytes as 22 characters of base64url, such as"),
        ("raft.topic.name", "a/b", "1 to 249 letters, digits, dots, underscores and dashes"),
        ("raft.topic.name", "..", "1 to 249 letters, digits, dots, underscores and dashes"),
        ("raft.topic.name", "x" * 250, "1 to 249 letters, digits, dots, underscores and dashes"),
        ("raft.records.strict", "yes", "true or false"),
        ("cleanup.policy", "compact,delete", "none, compact or delete"),
        ("min.cleanable.dirty.ratio", "1", "a number from 0 up to, and not including, 1"),
        ("min.cleanable.dirty.ratio", "half", "a number from 0 up to, and not including, 1"),
        ("listeners", "one:9093", "NAME://host:port,... with ports of 1 to 65535"),
        ("listeners", "CONTROLLER://one:0", "NAME://host:port,... with ports of 1 to 65535"),
        ("listeners", "CONTROLLER://one:99999", "NAME://host:port,... with ports of 1 to 65535"),
        ("listeners", "A://one:1,A://two:2", "each listener name once"),
        ("listeners", "A://one:1,B://two:2", "one listener, such as CONTROLLER://host:9093"),
        ("listeners", "", "one listener, such as CONTROLLER://host:9093"),
        ("advertised.listeners", "CONTROLLER://0.0.0.0:1", "hosts that other nodes and clients can connect to"),
        ("advertised.listeners", "CONTROLLER://[::]:1", "hosts that other nodes and clients can connect to"),
        ("advertised.listeners", "CONTROLLER://:1", "hosts that other nodes and clients can connect to"),
        ("log.dirs", "/a,/b", "one directory, because a node has one log; metadata.log.dir chooses it where"),
        ("advertised.listeners", "one", "NAME://host:port,... with ports of 1 to 65535"),
    ],
)
def test_wrong_value_is_refused_with_key_value_and_what_is_expected(key: str, value: str, expected: str) -> None:
    with pytest.raises(ConfigError) as refused:
        config(**{key: value})

    assert str(refused.value).startswith(f"{key}={value}: expected {expected}")


@pytest.mark.parametrize(
    ("name", "least_ms"),
    [("election.timeout", 10), ("fetch.timeout", 10), ("request.timeout", 10), ("retry.backoff", 1)],
)
@pytest.mark.rule("TIMER-1")
def test_timeout_that_would_make_a_node_spin_is_refused(name: str, least_ms: int) -> None:
    key = f"controller.quorum.{name}.ms"

    for value_ms in (0, least_ms - 1):
        with pytest.raises(ConfigError, match=f"^{key}={value_ms}: expected {least_ms} to 2147483647$"):
            config(**{key: str(value_ms)})


@pytest.mark.parametrize("key", ["controller.quorum.voters", "controller.quorum.bootstrap.servers", "listeners"])
@pytest.mark.parametrize("host", ["a..b", "-a", "a b", "x" * 64])
def test_host_that_cannot_be_a_name_is_refused(key: str, host: str) -> None:
    forms = {"controller.quorum.voters": "1@{}:9093", "listeners": "CONTROLLER://{}:9093"}
    value = forms.get(key, "{}:9093").format(host)

    with pytest.raises(ConfigError, match=f"^{key}=.*: expected "):
        config(**{key: value})


@pytest.mark.parametrize(
    "key",
    [
        "ssl.keystore.password",
        "sasl.jaas.config",
        "client.SECRET",
        "delegation.token.master",
        "aws.credentials",
        "ssl.private.key",
        "ssl.privatekey",
    ],
)
def test_value_that_may_be_a_secret_is_not_printed(key: str) -> None:
    assert str(refuse(key, "hunter2", "nothing")) == f"{key}=[hidden]: expected nothing"
    with pytest.raises(ConfigError, match=r"^--override \[hidden\]: expected key=value$"):
        parse_overrides([f"{key}:hunter2"])


def test_key_of_no_secret_is_printed_with_its_value() -> None:
    assert str(refuse("listeners", "x", "nothing")) == "listeners=x: expected nothing"


def test_frame_without_room_for_the_largest_batch_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        config(socket__request__max__bytes="66536", message__max__bytes="1001")

    assert str(refused.value) == (
        "socket.request.max.bytes=66536: expected 66537 or more: message.max.bytes=1001 and 65536 for the "
        "request around it"
    )
    assert config(socket__request__max__bytes="66537", message__max__bytes="1001").socket_request_max_bytes == 66537


def test_queue_without_room_for_the_largest_batch_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        config(queued__max__request__bytes="1000", message__max__bytes="1001")

    message = "queued.max.request.bytes=1000: expected message.max.bytes=1001 or more"
    assert str(refused.value) == message
    assert config(queued__max__request__bytes="1001", message__max__bytes="1001").queued_max_request_bytes == 1001
    assert config(message__max__bytes=str(100 << 20)).queued_max_request_bytes == 100 << 20, "the default grows with it"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("node.id", "node.id is missing: expected a whole number of 0 or more"),
        ("log.dirs", "log.dirs is missing: expected a directory for the log"),
        ("controller.quorum.voters", "the quorum is missing: expected controller.quorum.voters=id@host:port,"),
    ],
)
@pytest.mark.rule("BOOT-4")
def test_missing_key_is_named(key: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(**{key: None})


@pytest.mark.parametrize("key", ["metadata.log.dir", "log.dirs", "log.dir"])
def test_log_directory_has_several_keys(key: str) -> None:
    assert config(**{"log.dirs": None, key: "/data"}).log_dir == Path("/data")


def test_directory_of_the_metadata_log_comes_first() -> None:
    assert config(metadata__log__dir="/fast", log__dirs="/slow").log_dir == Path("/fast")


@pytest.mark.rule("BOOT-4", "BOOT-5")
def test_node_without_voters_is_an_observer_of_its_bootstrap_servers() -> None:
    observer = config(controller__quorum__voters=None, controller__quorum__bootstrap__servers="one:9093")

    assert observer.voters == {}
    assert observer.bootstrap_servers == (Endpoint("one", 9093),)


def test_node_outside_the_voters_is_an_observer() -> None:
    observer = config(node__id="9")

    assert observer.node_id not in observer.voters


def test_example_configuration_warns_of_the_missing_cluster_id_alone() -> None:
    example = NodeConfig.from_properties(read_properties(CONF / "node.properties"))

    assert example.warnings == (
        "cluster.id is missing: AAAAAAAAAAAAAAAAAAAAAA is used, as by any other quorum without a cluster.id",
    )
    assert example.listener == Endpoint("localhost", 9093, "CONTROLLER")


OF_TEST_RAFT_SERVER = {"raft.topic.name", "raft.topic.id", "raft.records.strict", "raft.voters.verify.address"}
"""The example shows these with other values than their defaults."""


def test_example_configuration_shows_every_default_as_it_is() -> None:
    shown = dict(re.findall(r"^#([a-z.]+)=(.*)$", (CONF / "node.properties").read_text(), re.MULTILINE))
    plain = read_properties(CONF / "node.properties")
    with_default = {
        row.name
        for row in (*NODE_PROPERTIES, *SECURITY_PROPERTIES)
        if isinstance(row.default, int | float | CleanupPolicy)
    }
    defaults = {name: shown.get(name, "") for name in with_default - OF_TEST_RAFT_SERVER}

    assert NodeConfig.from_properties(plain | defaults) == NodeConfig.from_properties(plain)
    assert {name for name, value in defaults.items() if not value} == {"allow.everyone.if.no.acl.found"}
    assert len(defaults) == 32


def test_property_has_one_row() -> None:
    names = [row.name for row in (*NODE_PROPERTIES, *SECURITY_PROPERTIES)] + [*WITHOUT_EFFECT]

    assert len(set(names)) == len(names)


def test_example_configuration_has_every_key_but_other_names_of_one_directory() -> None:
    text = (CONF / "node.properties").read_text()
    names = {row.name for row in NODE_PROPERTIES if "<" not in row.name}

    missing = names - set(re.findall(r"^(?:# ?)?([a-z.]+)=", text, re.MULTILINE))

    assert missing == {"log.dir", "metadata.log.dir", "allow.everyone.if.no.acl.found"}


@pytest.mark.parametrize(
    ("key", "warning"),
    [
        (
            "controller.quorum.voter",
            "unknown key controller.quorum.voter is ignored; did you mean controller.quorum.voters?",
        ),
        ("node.idd", "unknown key node.idd is ignored; did you mean node.id?"),
        ("xyzzy", "unknown key xyzzy is ignored"),
    ],
)
def test_unknown_key_warns_with_the_nearest_known(key: str, warning: str) -> None:
    assert config(**{key: "7"}).warnings == (warning,)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("controller.quorum.append.linger.ms", "a batch is written when it arrives, never merged or delayed"),
        ("controller.quorum.auto.join.enable", "the set of voters is static"),
    ],
)
@pytest.mark.rule("LOG-9")
def test_key_without_effect_says_so(key: str, reason: str) -> None:
    assert config(**{key: "7"}).warnings == (f"{key} has no effect here: {reason}",)
