"""Where the voters of a quorum service listen, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkConf
from pyspark.sql import SparkSession

from kraft_spark import QuorumService
from kraft_spark.spark_application import SparkApplication
from raft.client import Client, ClientSettings
from raft.errors import ConfigError
from raft.types import Endpoint
from tests.local.conftest import QUICK
from tests.node.harness.batches import batch_of
from tests.workload.committed import read_all

pytestmark = pytest.mark.spark


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
        quorum = QuorumService.start(
            spark, voters=1, data_dir=tmp_path, settings=QUICK, listen="driver", trust_network=True
        )
    with quorum:
        (server,) = quorum.bootstrap_servers.split(",")
        host, _, port = server.rpartition(":")
        bound = Endpoint("127.0.0.2", int(port))
        settings = ClientSettings(bootstrap_servers=(bound,), cluster_id=quorum.cluster_id, api_timeout_ms=5_000)
        with Client(settings) as client:
            assert client.describe_quorum().leader_id == 1

    assert host == "localhost", "what executors connect to"


def test_voters_listen_on_the_address_that_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with QuorumService.start(
        spark, voters=2, data_dir=tmp_path, settings=QUICK, listen="127.0.0.3", trust_network=True
    ) as quorum:
        servers = [server.rpartition(":") for server in quorum.bootstrap_servers.split(",")]
        endpoints = tuple(Endpoint(host, int(port)) for host, _, port in servers)
        with Client(ClientSettings(bootstrap_servers=endpoints, cluster_id=quorum.cluster_id)) as client:
            client.append(batch_of(b"kept"))
            assert [record.value for record in read_all(client)] == [b"kept"]

    assert {host for host, _, _ in servers} == {"127.0.0.3"}


@pytest.mark.parametrize("listen", ["driver", "127.0.0.3"])
def test_other_addresses_are_refused_until_the_network_is_called_trusted(
    spark: SparkSession, tmp_path: Path, listen: str
) -> None:
    with pytest.raises(ConfigError, match=f'^listen="{listen}": expected trust_network=True as well, because '):
        QuorumService.start(spark, voters=1, data_dir=tmp_path / "data", listen=listen)

    assert not (tmp_path / "data").exists()


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
        QuorumService.start(spark, voters=1, data_dir=tmp_path, listen=listen, trust_network=True)


def test_driver_without_a_host_is_refused() -> None:
    running = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: False))
    context = SimpleNamespace(_jsc=running, getConf=lambda: SparkConf(loadDefaults=False))
    session = SimpleNamespace(_jvm=object(), sparkContext=context)

    with pytest.raises(ConfigError, match=r"^listen=\"driver\": this application has no spark\.driver\.host"):
        _ = SparkApplication(session).driver_address  # type: ignore[arg-type]  # a session without a host
