"""Streams and batches with a quorum that asks who its clients are, and what Spark shows when they are refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from raft.properties import format_properties
from raft.security.authority import Authority
from tests.secured.secured_quorum import APPLICATION, READER, STRANGER, WRITER, SecuredQuorum
from tests.secured.ways import ENCRYPTED, MUTUAL, PLAIN, SCRAM, WAYS, Way
from tests.spark.defaults import defaults
from tests.spark.frames import SERVERS, Frames
from tests.spark.secured import options_of
from tests.spark.streams import Delivered, Input, into_log, run_to_end

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredQuorum]:
    """Three nodes of `kraft serve`."""
    with SecuredQuorum(tmp_path_factory.mktemp("secured")).start() as running:
        running.settle()
        yield running


@pytest.mark.rule("AUTH-1", "AUTH-2", "AUTH-3")
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_streams_and_batches_go_in_and_out(
    spark: SparkSession, secured: SecuredQuorum, tmp_path: Path, way: Way
) -> None:
    access, end = secured.access(way), secured.end_offset()
    options, frames, source = options_of(access), Frames(spark, access.bootstrap_servers), Input(tmp_path / "input")

    frames.write(frames.values(["batch"]), **options)
    source.add(["stream"])
    run_to_end(into_log(source.stream(spark), frames.servers, tmp_path / "into", **options).start())
    delivered = Delivered(frames.stream(**options, startingOffsets=end), tmp_path / "out")
    delivered.run()

    read = frames.read(**options, startingOffsets=end).selectExpr("cast(value as string)").collect()
    assert [row.value for row in read] == ["batch", "stream"]
    assert delivered.values == ["batch", "stream"]


def test_tables_have_the_security_of_the_defaults(spark: SparkSession, secured: SecuredQuorum) -> None:
    access, end = secured.access(SCRAM), secured.end_offset()
    properties = {**access.properties(), "bootstrap.servers": access.bootstrap_servers, "readColumns": "drop"}

    with defaults(spark, format_properties(properties)):
        spark.sql("CREATE TABLE secured_log USING kraft")
        try:
            spark.sql("INSERT INTO secured_log (value) VALUES (CAST('of a table' AS BINARY))")
            rows = spark.sql(
                f"SELECT CAST(value AS STRING) FROM secured_log WITH (startingOffsets = '{end}')"
            ).collect()
        finally:
            spark.sql("DROP TABLE secured_log")

    assert [row.value for row in rows] == ["of a table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One reason to refuse an application.

    Fields:
        way: how it connects.
        user: who it is.
        password: another one than that of the user.
        changes: see `options_of`.
        servers: changes the servers.
        writes: whether it writes; it reads otherwise.
        message: a pattern of the message of this project.
    """

    way: Way = SCRAM
    user: str = APPLICATION
    password: str | None = None
    changes: dict[str, str | None] = field(default_factory=dict)
    servers: Callable[[str], str] = str
    writes: bool = False
    message: str

    def options(self, quorum: SecuredQuorum, folder: Path) -> dict[str, str]:
        """Return its options; `{folder}` in a change is a folder of the test."""
        changes = {key: text and text.format(folder=folder) for key, text in self.changes.items()}
        options = options_of(quorum.access(self.way, self.user, password=self.password), **changes)
        return options | {SERVERS: self.servers(options[SERVERS])}


_NO_RIGHTS = (
    r"raft\.errors\.AuthorizationError: TOPIC_AUTHORIZATION_FAILED: expected a rule in raft\.authorization\.file of "
    r"the nodes that allows its user `read` for reads, `append` for writes, `describe` for descriptions$"
)
_NO_TOPIC = r"raft\.errors\.ConfigError: the nodes show this client no topic: expected a rule in "
_NODE = r"raft\.errors\.AuthenticationError: (127\.0\.0\.1|localhost):\d+: "
_WRONG = _NODE + r"the node refused the credentials in sasl\.jaas\.config: Authentication failed"
_SOON = {"socket__connection__setup__timeout__ms": "500"}
_UNREACHABLE = r"raft\.errors\.QuorumUnreachableError: no node of the quorum could be connected to in 0\.5 s: \S+: "

REFUSALS = {
    "no right to write": Refusal(user=READER, writes=True, message=_NO_RIGHTS),
    "no right to read": Refusal(user=WRITER, message=_NO_RIGHTS),
    "no right at all, read": Refusal(user=STRANGER, message=_NO_TOPIC),
    "no right at all, write": Refusal(user=STRANGER, writes=True, message=_NO_TOPIC),
    "wrong password": Refusal(password="wrong", message=_WRONG),
    "wrong password, write": Refusal(password="wrong", way=PLAIN, writes=True, message=_WRONG),
    "other authority": Refusal(
        changes={"ssl__truststore__location": "{folder}/other.pem"},
        message=_NODE + r"the certificate of the node is not accepted: self-signed certificate in certificate chain: "
        r"expected one of an authority in ssl\.truststore\.location$",
    ),
    "other host": Refusal(
        servers=lambda servers: servers.replace("127.0.0.1", "localhost"),
        message=_NODE + r"the certificate of the node is not accepted: Hostname mismatch, certificate is not valid for "
        r"'localhost': expected a name or an address of the node that its certificate has$",
    ),
    "no certificate": Refusal(
        way=MUTUAL,
        changes={"ssl__keystore__location": None, "ssl__keystore__type": None},
        message=_NODE
        + r"the node refused the certificate in ssl\.keystore\.location: tlsv13 alert certificate required$",
    ),
    "certificate of another authority": Refusal(
        way=MUTUAL,
        changes={"ssl__keystore__location": "{folder}/other-client.pem"},
        message=_NODE + r"the node refused the certificate in ssl\.keystore\.location: tlsv1 alert unknown ca$",
    ),
    "certificate without a name": Refusal(
        way=MUTUAL,
        changes={"ssl__keystore__location": "{folder}/nameless.pem", **_SOON},
        message=_UNREACHABLE + r"the node closed the connection after the TLS handshake; do its "
        r"ssl\.principal\.mapping\.rules have a name for the certificate in ssl\.keystore\.location\?",
    ),
    "missing file": Refusal(
        changes={"ssl__truststore__location": "no-such.pem"},
        message=r"raft\.errors\.ConfigError: ssl\.truststore\.location=no-such\.pem: no such file on host \S+; it may "
        r"be a relative location of a file that Spark brings to each process \(spark\.files, SparkContext\.addFile\)$",
    ),
    "plain text to TLS": Refusal(
        changes={
            "security__protocol": None,
            "ssl__truststore__location": None,
            "ssl__truststore__type": None,
            "sasl__mechanism": None,
            "sasl__jaas__config": None,
            **_SOON,
        },
        message=_UNREACHABLE + r"the node closed the connection before its first response; is security\.protocol that "
        r"of the node's listener\?",
    ),
    "no SASL to SASL": Refusal(
        way=PLAIN,
        changes={"security__protocol": "SSL", "sasl__mechanism": None, "sasl__jaas__config": None},
        message=_NODE
        + r"the node asks for SASL: expected security\.protocol=SASL_PLAINTEXT or SASL_SSL, and the name ",
    ),
    "SASL to no SASL": Refusal(
        way=ENCRYPTED,
        changes={
            "security__protocol": "SASL_SSL",
            "sasl__mechanism": "PLAIN",
            "sasl__jaas__config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="a" password="b";',
        },
        message=_NODE + r"the node does not use SASL on this listener: expected security\.protocol=SSL or PLAINTEXT$",
    ),
}


@pytest.mark.rule("ACL-2", "ACL-5", "AUTH-2", "AUTH-6")
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_refused_application_is_told_what_is_expected(
    spark: SparkSession, secured: SecuredQuorum, tmp_path: Path, refusal: Refusal
) -> None:
    other = Authority.create("another authority")
    (tmp_path / "other.pem").write_bytes(other.certificate_pem())
    (tmp_path / "other-client.pem").write_bytes(other.issue("CLIENT-APPLICATION"))
    shutil.copy(secured.authority.with_name("node-1.pem"), tmp_path / "nameless.pem")
    options = refusal.options(secured, tmp_path)
    options |= {"kraft.default.api.timeout.ms": "3600000"}  # Without a retry, it is told at once.
    frames = Frames(spark, options[SERVERS])

    def use() -> None:
        if refusal.writes:
            frames.write(frames.values(["refused"]), **options)
        else:
            frames.read(**options).collect()

    with pytest.raises(PySparkException) as refused:
        use()

    lines = str(refused.value).splitlines()
    assert any(re.search(refusal.message, line) for line in lines), lines
    assert "Traceback" not in str(refused.value)
