"""Where the voters of a quorum service listen, and what is refused."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkConf
from pyspark.sql import SparkSession

from kraft_spark import QuorumService
from kraft_spark.spark_application import SparkApplication
from raft.client import Client, ClientSettings
from raft.config.security import NO_SECURITY, SecurityProtocol
from raft.errors import AuthenticationError, ConfigError, QuorumUnavailableError
from tests.local.client_config import client_from, settings_from
from tests.local.conftest import QUICK
from tests.node.harness.batches import batch_of
from tests.workload.committed import read_all

pytestmark = pytest.mark.spark


def leader_id(settings: ClientSettings) -> int:
    """The leader, as a client with these settings finds it."""
    with Client(settings) as client:
        return client.describe_quorum().leader_id


def test_voters_listen_where_the_driver_does(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = SparkConf(loadDefaults=False).setAll(
        [("spark.driver.host", "localhost"), ("spark.driver.bindAddress", "0.0.0.0")]
    )
    monkeypatch.setattr(spark.sparkContext, "getConf", lambda: conf)
    monkeypatch.setattr(SparkApplication, "is_local", False)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quorum = QuorumService.start(spark, voters=1, data_dir=tmp_path, settings=QUICK, listen="driver")
    with quorum:
        (server,) = quorum.bootstrap_servers.split(",")
        host, _, port = server.rpartition(":")
        leaders = [
            leader_id(settings_from(quorum.client_config)),
            # The voter listens there too, but its certificate does not have this address.
            leader_id(
                settings_from(
                    quorum.client_config,
                    bootstrap__servers=f"127.0.0.2:{port}",
                    ssl__endpoint__identification__algorithm="",
                )
            ),
        ]

    assert host == "localhost", "what executors connect to"
    assert leaders == [1, 1]


def test_voters_listen_on_the_address_that_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with QuorumService.start(spark, voters=2, data_dir=tmp_path, settings=QUICK, listen="127.0.0.3") as quorum:
        with client_from(quorum.client_config, cluster_id=quorum.cluster_id) as client:
            client.append(batch_of(b"kept"))
            values = [record.value for record in read_all(client)]
        servers = [server.rpartition(":") for server in quorum.bootstrap_servers.split(",")]
        options = {"kraft.bootstrap.servers": quorum.bootstrap_servers}
        rows = spark.read.format("kraft").options(**options).load().selectExpr("cast(value as string)").collect()

    assert {host for host, _, _ in servers} == {"127.0.0.3"}
    assert values == [b"kept"]
    assert [row.value for row in rows] == ["kept"], "the application needs no options to connect"


def test_only_clients_that_know_the_authority_and_a_password_are_served_beyond_loopback(
    spark: SparkSession, tmp_path: Path
) -> None:
    with QuorumService.start(spark, voters=1, data_dir=tmp_path, settings=QUICK, listen="127.0.0.3") as quorum:
        served = settings_from(quorum.client_config)
        known = served.security
        assert known is not None
        assert known.protocol is SecurityProtocol.SASL_SSL
        assert known.tls is not None
        for security, reason in (
            (NO_SECURITY, "the node closed the connection"),
            (replace(known, protocol=SecurityProtocol.SASL_PLAINTEXT, tls=None), "the node closed"),
            (replace(known, protocol=SecurityProtocol.SSL, sasl=None), "the node asks for SASL"),
            (
                replace(known, tls=replace(known.tls, trusted_certificates=None)),
                "the certificate of the node is not accepted: self-signed certificate in certificate chain",
            ),
        ):
            with pytest.raises((AuthenticationError, QuorumUnavailableError), match=reason):
                leader_id(replace(served, security=security, api_timeout_ms=2_000))

        assert leader_id(served) == 1


@pytest.mark.parametrize(
    ("listen", "problem"),
    [
        pytest.param("", 'listen="": expected an address that executors', id="empty"),
        pytest.param("0.0.0.0", 'listen="0.0.0.0": expected an address that executors', id="all interfaces"),
        pytest.param(
            "198.51.100.1", "cannot listen on 198.51.100.1: expected an address of this machine", id="not ours"
        ),
    ],
)
def test_address_on_which_voters_cannot_listen_is_refused(
    spark: SparkSession, tmp_path: Path, listen: str, problem: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{problem}"):
        QuorumService.start(spark, voters=1, data_dir=tmp_path, listen=listen)


def test_driver_without_a_host_is_refused() -> None:
    running = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: False))
    context = SimpleNamespace(_jsc=running, getConf=lambda: SparkConf(loadDefaults=False))
    session = SimpleNamespace(_jvm=object(), sparkContext=context)

    with pytest.raises(ConfigError, match=r"^listen=\"driver\": this application has no spark\.driver\.host"):
        _ = SparkApplication(session).driver_address  # type: ignore[arg-type]  # a session without a host
