"""Defaults of options from the file that `KRAFT_CONFIG` names: which count for what, and the error of each refusal."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from datasource.client_options import CLIENT, SECURITY_NAMES
from datasource.default_options import VARIABLE, DefaultOptions
from datasource.option import Use
from datasource.options import ReadOptions, WriteOptions
from datasource.source import KraftDataSource
from datasource.stream_reader import KraftStreamReader
from raft.errors import ConfigError
from raft.types import Endpoint

SERVERS = "bootstrap.servers=h1:1,h2:2\n"
FULL = """\
# The quorum of all queries.
bootstrap.servers = h1:1, \\
    h2:2
kraft.cluster.id = J8qFJ5vSQ_WmUo0zCbbnZg
request.timeout.ms: 700
default.api.timeout.ms=8000
max.request.size=500000
client.rack=a
includeHeaders=true
MAXOFFSETSPERTRIGGER=7
maxTriggerDelay=5m
startingOffsets=latest
endingOffsets=90
failOnWriteConflict=false
readColumns=drop
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kraft.properties"


def defaults(file: Path, text: str) -> DefaultOptions:
    file.write_text(text)
    return DefaultOptions.of_environment({VARIABLE: str(file)})


def test_file_has_options_of_each_use_by_their_names_and_by_the_keys_of_kafka(file: Path) -> None:
    options = defaults(file, FULL)

    stream = ReadOptions.of(options.below({}, Use.STREAM))
    batch = ReadOptions.of(options.below({}, Use.BATCH))
    write = WriteOptions.of(options.below({}, Use.WRITE))

    for client in (stream.client, batch.client, write.client):
        assert client.bootstrap_servers == (Endpoint("h1", 1), Endpoint("h2", 2))
        assert (client.cluster_id, client.request_timeout_ms) == ("J8qFJ5vSQ_WmUo0zCbbnZg", 700)
        assert (client.api_timeout_ms, client.max_request_bytes) == (8000, 500_000)
        # A rack has no effect without kraft.read.from=nearest, and maxTriggerDelay none without minOffsetsPerTrigger.
        assert client.rack is None
    stream.check_for_stream()
    batch.check_for_batch()
    assert (stream.max_offsets_per_trigger, batch.max_offsets_per_trigger) == (7, None)
    assert (stream.ending_offsets, batch.ending_offsets) == (None, 90)
    assert (batch.starting_offsets, stream.include_headers, batch.include_headers) == (None, True, True)
    assert (write.fail_on_write_conflict, write.read_columns.value) == (False, "drop")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"KRAFT.Bootstrap.SERVERS": "h3:3"}, {"client": (Endpoint("h3", 3),)}, id="in any case"),
        pytest.param({"startingOffsets": "5"}, {"starting_offsets": 5, "starting_timestamp_ms": None}, id="start"),
        pytest.param({"endingoffsets": "9"}, {"ending_offsets": 9, "ending_timestamp_ms": None}, id="end"),
        pytest.param({"startingTimestamp": "6"}, {"starting_timestamp_ms": 6}, id="time"),
        pytest.param({}, {"starting_timestamp_ms": 50, "ending_timestamp_ms": 60}, id="nothing"),
    ],
)
def test_given_option_wins_over_the_file(file: Path, given: dict[str, str], expected: dict[str, object]) -> None:
    options = defaults(file, SERVERS + "startingTimestamp=50\nendingTimestamp=60\n")

    read = ReadOptions.of(options.below(given, Use.BATCH))

    found = {name: getattr(read, name) for name in expected if name != "client"}
    if "client" in expected:
        found["client"] = read.client.bootstrap_servers
    assert found == expected


def test_rack_of_the_file_counts_for_a_read_from_the_nearest_node(file: Path) -> None:
    options = defaults(file, SERVERS + "client.rack=a\n")

    assert ReadOptions.of(options.below({"Kraft.Read.From": " Nearest"}, Use.BATCH)).client.rack == "a"
    assert ReadOptions.of(options.below({"kraft.read.from": "any"}, Use.BATCH)).client.rack is None


def test_file_may_have_the_rack_and_the_choice_of_the_nearest_node(file: Path) -> None:
    options = defaults(file, SERVERS + "client.rack=a\nkraft.read.from=Nearest\n")

    assert ReadOptions.of(options.below({}, Use.STREAM)).client.rack == "a"


def test_delay_of_the_file_counts_for_a_least_number_of_rows(file: Path) -> None:
    options = defaults(file, SERVERS + "maxTriggerDelay=5s\n")

    assert ReadOptions.of(options.below({"minOffsetsPerTrigger": "3"}, Use.STREAM)).max_trigger_delay_ms == 5000


@pytest.mark.parametrize("value", ["", "  "])
def test_without_a_file_there_are_no_defaults(value: str) -> None:
    assert DefaultOptions.of_environment({}) == DefaultOptions.of_environment({VARIABLE: value}) == DefaultOptions()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("startingOffset=1", "unknown option startingOffset: did you mean startingOffsets?"),
        ("subscribe=t", "option subscribe of Kafka does not exist here: a quorum has one topic with one partition"),
        ("security.protocol=TLS", "kraft.security.protocol=TLS: expected PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("security.protocol=SASL_SSL", "kraft.sasl.mechanism is missing"),
        ("kafka.bootstrap.servers=h:1", "option kafka.bootstrap.servers of Kafka does not exist here: options of this"),
        ("path=/x", "option path: a log has no path"),
        ("txnAppId=a", "txnAppId names one write and is no default: give it to that write as an option"),
        ("txnVersion=1", "txnVersion names one write and is no default"),
        ("checkpointLocation=/x", "checkpointLocation is an option of Spark for one query or table: give it there"),
        ("bootstrap.servers=h", "kraft.bootstrap.servers=h: expected host:port with a port of 1 to 65535"),
        ("request.timeout.ms=soon", "kraft.request.timeout.ms=soon: expected a whole number of 1 or more"),
        ("maxTriggerDelay=soon", "maxTriggerDelay=soon: expected a duration such as"),
        ("kraft.read.from=moon", "kraft.read.from=moon: expected leader, any, nearest"),
        ("client.rack=", "kraft.client.rack=: expected a text that is not empty"),
        ("readColumns=keep", "readColumns=keep: expected refuse, drop, keepTimestamps"),
        ("failOnDataLoss=yes", "failOnDataLoss=yes: expected true or false"),
        (
            "bootstrap.servers=h:1\nkraft.bootstrap.servers=h:2",
            "it has kraft.bootstrap.servers twice, as kraft.bootstrap.servers too: expected one of them",
        ),
        (
            "kraft.client.rack=a\nclient.rack=b",
            "it has kraft.client.rack twice, as client.rack too: expected one of them",
        ),
    ],
)
def test_file_is_refused_by_its_path_with_the_key_and_what_is_expected(file: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        defaults(file, text + "\n")

    assert str(refusal.value).startswith(f"the file {file} (KRAFT_CONFIG) cannot be used: {message}")


@pytest.mark.parametrize("kind", ["missing", "a folder", "not UTF-8"])
def test_file_that_cannot_be_read_is_refused(file: Path, kind: str) -> None:
    if kind == "a folder":
        file.mkdir()
    elif kind == "not UTF-8":
        file.write_bytes(b"bootstrap.servers=\xff")
    reason = {
        "missing": "No such file or directory",
        "a folder": "Is a directory",
        "not UTF-8": "expected a properties file in UTF-8, got byte 0xff at byte 18",
    }[kind]

    with pytest.raises(ConfigError) as refusal:
        DefaultOptions.of_environment({VARIABLE: str(file)})

    expected = f"the file {file} (KRAFT_CONFIG) cannot be used: cannot read {file}: {reason}"
    assert str(refusal.value) == expected


def test_error_of_a_combination_names_the_file(file: Path) -> None:
    options = defaults(file, SERVERS + "minOffsetsPerTrigger=9\n")

    with pytest.raises(ConfigError) as of_both:
        options.parse(ReadOptions.of, {"maxOffsetsPerTrigger": "5"}, Use.STREAM)
    with pytest.raises(ConfigError) as of_the_program:
        options.parse(ReadOptions.of, {"startingOffsets": "abc"}, Use.STREAM)

    assert str(of_both.value) == (
        "minOffsetsPerTrigger=9 is above maxOffsetsPerTrigger=5: expected at most that. Options that are not given "
        f"come from the file {file} (KRAFT_CONFIG)"
    )
    assert "KRAFT_CONFIG" not in str(of_the_program.value)


def test_source_has_the_defaults_of_its_creation_wherever_spark_sends_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(SERVERS + "includeHeaders=true\n")
    monkeypatch.setenv(VARIABLE, str(file))
    source = KraftDataSource({})
    monkeypatch.delenv(VARIABLE)
    file.unlink()

    sent = pickle.loads(pickle.dumps(source))

    assert "headers" in sent.schema().names
    assert isinstance(sent.streamReader(sent.schema()), KraftStreamReader)
    options = sent.reader(sent.schema())._options
    assert options.client.bootstrap_servers == (Endpoint("h1", 1), Endpoint("h2", 2))


def test_source_explains_where_an_option_comes_from(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(SERVERS + "endingOffsets=3\nstartingOffsets=1\n")
    monkeypatch.setenv(VARIABLE, str(file))
    source = KraftDataSource({"startingOffsets": "5"})

    with pytest.raises(
        ConfigError, match=r"startingOffsets=5 is after endingOffsets=3: .* the file .*\(KRAFT_CONFIG\)"
    ):
        source.reader(source.schema())


VALUES = {
    "bootstrap.servers": "h:1",
    "sasl.mechanism": "PLAIN",
    "security.protocol": "SASL_SSL",
    "ssl.enabled.protocols": "TLSv1.3",
    "ssl.endpoint.identification.algorithm": "https",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.location": "",
    "ssl.truststore.type": "PEM",
}
"""Values of the keys that cannot be numbers."""


def test_document_names_the_keys_of_kafka_that_the_file_may_have(file: Path) -> None:
    section = (Path(__file__).parents[2] / "docs" / "sql.md").read_text().split("Kafka's clients instead:")[1]
    named = re.findall(r"`([a-z.]+)`", section.split("Other keys")[0])

    options = defaults(file, "".join(f"{key}={VALUES.get(key, 1)}\n" for key in named))

    clients = {row.name for row in CLIENT.values()}
    assert {*options.options} == clients - {"kraft.cluster.id", "kraft.read.from"} | {*SECURITY_NAMES}


def test_missing_servers_are_asked_for_in_both_places() -> None:
    with pytest.raises(
        ConfigError, match="as an option or in the file that the environment variable KRAFT_CONFIG names"
    ):
        KraftDataSource({}).schema()


SECURED = (
    "bootstrap.servers=h1:1,h2:2\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
    'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";\n'
)


@pytest.mark.parametrize(
    ("given", "is_secured"),
    [
        pytest.param({}, True, id="nothing"),
        pytest.param({"kraft.bootstrap.servers": "h2:2, h1:1"}, True, id="the servers of the file"),
        pytest.param({"kraft.bootstrap.servers": "h2:2"}, True, id="one of them"),
        pytest.param({"kraft.bootstrap.servers": "h1:1,attacker:9"}, False, id="another one too"),
        pytest.param({"KRAFT.BOOTSTRAP.SERVERS": "attacker:9"}, False, id="others"),
        pytest.param({"kraft.ssl.truststore.certificates": "x"}, False, id="another authority"),
        pytest.param({"kraft.SASL.mechanism": "PLAIN"}, False, id="a mechanism"),
        pytest.param({"includeHeaders": "true"}, True, id="an option that is not of security"),
    ],
)
@pytest.mark.rule("AUTH-13")
def test_security_of_the_file_is_used_for_its_own_servers_and_not_in_parts(
    file: Path, given: dict[str, str], is_secured: bool
) -> None:
    merged = defaults(file, SECURED).below(given, Use.STREAM)

    security = {name for name in merged if name.startswith(("kraft.security", "kraft.sasl", "kraft.ssl"))} - {*given}
    assert security == (
        {"kraft.security.protocol", "kraft.sasl.mechanism", "kraft.sasl.jaas.config"} if is_secured else set()
    )


@pytest.mark.rule("AUTH-13")
def test_security_of_a_file_without_servers_is_used_for_all(file: Path) -> None:
    options = defaults(file, SECURED.partition("\n")[2])

    assert "kraft.sasl.jaas.config" in options.below({"kraft.bootstrap.servers": "h:1"}, Use.WRITE)


@pytest.mark.parametrize("use", ["read", "stream", "write"])
@pytest.mark.rule("AUTH-13")
def test_only_the_file_may_refer_to_secrets_unless_the_environment_says_otherwise(
    file: Path, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    reference = "${env:AWS_SECRET_ACCESS_KEY}"
    monkeypatch.delenv("KRAFT_CONFIG_PROVIDERS", raising=False)
    file.write_text(SECURED.replace('"b"', f'"{reference}"'))
    monkeypatch.setenv(VARIABLE, str(file))
    given = {"kraft.bootstrap.servers": "attacker:9", "kraft.security.protocol": "SASL_SSL"}
    given |= {"kraft.sasl.mechanism": "PLAIN", "kraft.sasl.jaas.config": f"module required username={reference};"}

    def planned(options: dict[str, str]) -> object:
        source = KraftDataSource(options)
        return source._write_options() if use == "write" else source.schema()

    planned({})
    with pytest.raises(ConfigError, match=r"^option kraft\.sasl\.jaas\.config: \$\{env:AWS_SECRET_ACCESS_KEY\} is not"):
        planned(given)
    monkeypatch.setenv("KRAFT_CONFIG_PROVIDERS", "env:AWS_SECRET_ACCESS_KEY")
    planned(given)


@pytest.fixture
def named(file: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The option that names the file, which is allowed; the environment names another one."""
    other = file.with_name("environment.properties")
    other.write_text("bootstrap.servers=other:9\nincludeHeaders=true\n")
    monkeypatch.setenv(VARIABLE, str(other))
    monkeypatch.setenv("KRAFT_CONFIG_PROVIDERS", f"file:{file.parent}")
    return {"Kraft.Config": f" {file} "}


def test_query_has_the_file_that_it_names_in_place_of_the_one_of_the_environment(
    file: Path, named: dict[str, str]
) -> None:
    file.write_text(SERVERS + "maxRecordsPerPartition=7\nminPartitions=3\n")

    source = KraftDataSource(named | {"minPartitions": "5"})

    read = source.reader(source.schema())._options
    assert read.client.bootstrap_servers == (Endpoint("h1", 1), Endpoint("h2", 2))
    assert (read.max_records_per_partition, read.min_partitions) == (7, 5), "an option wins over the file"
    assert not read.include_headers
    assert KraftDataSource(named)._write_options().client.bootstrap_servers == read.client.bootstrap_servers


@pytest.mark.rule("AUTH-13")
def test_security_of_the_named_file_is_used_for_its_own_servers(file: Path, named: dict[str, str]) -> None:
    file.write_text(SECURED)

    own = KraftDataSource(named)._write_options().client
    elsewhere = KraftDataSource(named | {"kraft.bootstrap.servers": "attacker:9"})._write_options().client

    assert own.security is not None
    assert elsewhere.security is None


@pytest.mark.parametrize(
    "environment", [None, "file:/etc/other", "env:HOME,directory:/"], ids=["nothing", "another file", "other kinds"]
)
@pytest.mark.rule("AUTH-13")
def test_query_may_not_name_a_file_to_which_it_may_not_refer(
    file: Path, named: dict[str, str], monkeypatch: pytest.MonkeyPatch, environment: str | None
) -> None:
    file.write_text(SERVERS)
    monkeypatch.setenv("KRAFT_CONFIG_PROVIDERS", environment or "")

    with pytest.raises(ConfigError) as refusal:
        KraftDataSource(named)

    assert str(refusal.value) == (
        f"option kraft.config: the file {file} is not allowed here: expected file:{file} in the environment variable "
        "KRAFT_CONFIG_PROVIDERS of the driver, set before Spark starts"
    )


@pytest.mark.rule("AUTH-13")
def test_named_file_may_refer_to_what_an_option_may(
    file: Path, named: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(SECURED.replace('"b"', '"${env:PASSWORD}"'))

    with pytest.raises(ConfigError) as refusal:
        KraftDataSource(named)
    monkeypatch.setenv("KRAFT_CONFIG_PROVIDERS", f"file:{file},env:PASSWORD")
    KraftDataSource(named)

    said = f"the file {file} (kraft.config) cannot be used: option kraft.sasl.jaas.config: ${{env:PASSWORD}} is not"
    assert str(refusal.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("startingOffset=1", "unknown option startingOffset: did you mean startingOffsets?"),
        ("kraft.config=x", "kraft.config names a file for one query: expected no other file in this one"),
    ],
)
def test_named_file_is_refused_by_its_path(file: Path, named: dict[str, str], text: str, message: str) -> None:
    file.write_text(f"{text}\n")

    with pytest.raises(ConfigError) as refusal:
        KraftDataSource(named)

    assert str(refusal.value) == f"the file {file} (kraft.config) cannot be used: {message}"


def test_named_file_that_does_not_exist_is_refused(file: Path, named: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=f"^kraft.config={file}: no such file on host "):
        KraftDataSource(named)


def test_name_of_no_file_is_refused() -> None:
    with pytest.raises(ConfigError) as refusal:
        KraftDataSource({"kraft.config": " "})

    assert str(refusal.value) == "kraft.config=: expected the path of a properties file"
