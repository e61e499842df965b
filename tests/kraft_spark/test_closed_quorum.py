"""A quorum beside the driver is closed to other users of the machine, and open to its application."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkFiles
from pyspark.sql import SparkSession

from datasource.spark_files import HANDED_PREFIX
from kraft_spark import QuorumService
from kraft_spark.spark_application import SparkApplication
from raft.config import read_properties
from raft.local.ports import free_ports
from tests.kraft_spark.other_user import DONE
from tests.local.conftest import QUICK
from tests.processes.commands import child_environment
from tests.processes.finished import run_to_end
from tests.spark.applications import Application
from tests.spark.frames import Frames

pytestmark = pytest.mark.spark

_OTHER_UID = 65_534
_IS_ADMINISTRATOR = os.geteuid() == 0


@pytest.fixture(scope="module")
def open_folder() -> Iterator[Path]:
    """A folder that all users may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture(scope="module")
def quorum(spark: SparkSession, open_folder: Path) -> Iterator[QuorumService]:
    """A quorum in a directory that all users may enter, because it was made before."""
    data_dir = open_folder / "quorum"
    data_dir.mkdir(mode=0o755)
    data_dir.chmod(0o755)
    with QuorumService.start(spark, voters=1, data_dir=data_dir, settings=QUICK) as quorum:
        frames = Frames(spark, quorum.bootstrap_servers)
        frames.write(frames.values(["of the application"]))
        yield quorum


@pytest.fixture(scope="module")
def tried(spark: SparkSession, quorum: QuorumService, open_folder: Path) -> dict[str, str]:
    """What came of the attempts of another user."""
    if not _IS_ADMINISTRATOR:
        pytest.skip("only the administrator can start a process of another user")
    data_dir = open_folder / "quorum"
    (open_folder / "control").write_text("readable for all")
    (voter_port,) = json.loads((data_dir / "quorum.json").read_text())["voterPorts"].values()
    inside = [path for path in data_dir.rglob("*") if path.parent == data_dir or path.is_file()]
    paths = [open_folder / "control", *inside, *handed_files()]
    task = {
        "uid": _OTHER_UID,
        "clients": quorum.bootstrap_servers,
        "voters": f"127.0.0.1:{voter_port}",
        "authority": (data_dir / "trusted.pem").read_text(),
        "paths": [str(path) for path in paths],
    }
    ended = run_to_end("another user", [sys.executable, "-m", "tests.kraft_spark.other_user", json.dumps(task)])
    outcomes: dict[str, str] = json.loads(ended.require_success())
    return outcomes


def handed_files() -> list[Path]:
    """The files with credentials that the application has."""
    return sorted(Path(SparkFiles.getRootDirectory()).glob(f"{HANDED_PREFIX}*"))


@pytest.mark.rule("AUTH-12", "ACL-1")
def test_other_user_reads_no_file_of_the_quorum_and_of_the_application(
    tried: dict[str, str], open_folder: Path
) -> None:
    opened = {name.removeprefix("open "): outcome for name, outcome in tried.items() if name.startswith("open ")}

    assert opened.pop(str(open_folder / "control")) == DONE, "the other user does read what it may"
    assert len(opened) > len(handed_files()) > 0
    assert {outcome.partition(":")[0] for outcome in opened.values()} == {"PermissionError"}


@pytest.mark.rule("AUTH-4", "AUTH-6")
@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        pytest.param(r"(read|append|describe) as .* no name", "the node asks for SASL", id="our client"),
        pytest.param(
            r"(read|append|describe) as .* a guess",
            r"the node refused the credentials in sasl\.jaas\.config",
            id="our client with a guess",
        ),
        pytest.param(
            r"(read|append|describe) at the voters' port with", "certificate required", id="our client among voters"
        ),
        pytest.param(r"(read|append|describe) at .* as a voter", "unknown ca", id="a voter of another authority"),
        pytest.param(r"(read|append|describe) without TLS", "the node closed the connection", id="without TLS"),
        pytest.param(r"list topics with librdkafka", "KafkaError", id="a client of Kafka"),
        pytest.param(
            r"send .* clients'", "the node closed the connection", id="requests without a name, and other bytes"
        ),
        pytest.param(r"send .* voters'", "(?i)certificate.required", id="requests without a certificate"),
    ],
)
def test_other_user_is_refused_at_all_ports(tried: dict[str, str], name: str, outcome: str) -> None:
    outcomes = [said for each, said in tried.items() if re.match(name, each)]

    assert len(outcomes) >= 2
    assert [said for said in outcomes if not re.search(outcome, said)] == []


def test_attempts_of_another_user_change_nothing(
    spark: SparkSession, quorum: QuorumService, tried: dict[str, str]
) -> None:
    assert tried

    assert Frames(spark, quorum.bootstrap_servers).log_values() == ["of the application"]
    assert quorum.describe().leader_epoch == 1


def test_another_application_needs_the_file_for_clients_and_gets_no_other_from_the_driver(
    spark: SparkSession, quorum: QuorumService, tmp_path: Path
) -> None:
    handed, served = handed_files()[-1], tmp_path / "served.jar"
    with zipfile.ZipFile(served, "w"):
        pass
    spark.sparkContext._jsc.sc().addJar(str(served))
    server = f"spark://{spark.conf.get('spark.driver.host')}:{spark.conf.get('spark.driver.port')}"
    urls = [f"{server}/{place}" for place in (f"jars/{served.name}", f"jars/{handed.name}", f"files/{handed.name}")]
    environment = child_environment(KRAFT_CONFIG=quorum.client_config, PYSPARK_PYTHON=sys.executable)

    with Application("tests.kraft_spark.second_application", *urls, environment=environment) as application:
        values, *fetched = [json.loads(application.line()) for _ in range(1 + len(urls))]
        assert application.wait() == 0, application.errors

    assert values == ["of the application"]
    assert fetched == [
        "fetched",
        f"Stream '/jars/{handed.name}' was not found.",
        f"Stream '/files/{handed.name}' was not found.",
    ]
    assert stat.S_IMODE(handed.stat().st_mode) == 0o600


def test_quorum_that_is_started_again_is_used_without_options_on_the_same_and_on_other_ports(
    spark: SparkSession, tmp_path: Path
) -> None:
    servers: list[str] = []
    jaas: list[str] = []
    (other_port,) = free_ports(1, in_a_row=2)
    for base_port in (None, None, other_port):
        with QuorumService.start(
            spark, voters=1, data_dir=tmp_path / "quorum", settings=QUICK, base_port=base_port
        ) as quorum:
            frames = Frames(spark, quorum.bootstrap_servers)
            frames.write(frames.values([f"start {len(servers)}"]))
            values = frames.log_values()
            servers.append(quorum.bootstrap_servers)
            jaas.append(read_properties(Path(quorum.client_config))["sasl.jaas.config"])

    assert values == ["start 0", "start 1", "start 2"]
    assert servers[0] == servers[1] != servers[2]
    assert len(set(jaas)) == 1


def test_each_quorum_of_an_application_has_its_own_credentials(
    spark: SparkSession, quorum: QuorumService, tmp_path: Path
) -> None:
    frames = Frames(spark, quorum.bootstrap_servers)
    with QuorumService.start(spark, voters=1, data_dir=tmp_path / "other", settings=QUICK) as other:
        others = Frames(spark, other.bootstrap_servers)
        others.write(others.values(["of the other quorum"]))

        assert others.log_values() == ["of the other quorum"]
        assert frames.log_values() == ["of the application"]
        own, its = (read_properties(Path(each.client_config))["sasl.jaas.config"] for each in (quorum, other))
    assert own != its


@pytest.mark.parametrize("authenticates", [False, True])
def test_service_warns_if_executors_of_other_processes_get_credentials_without_authentication(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, authenticates: bool
) -> None:
    monkeypatch.setattr(SparkApplication, "is_one_process", False)
    monkeypatch.setattr(SparkApplication, "authenticates", authenticates)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quorum = QuorumService.start(spark, voters=1, data_dir=tmp_path / "quorum", settings=QUICK)
    with quorum:
        values = Frames(spark, quorum.bootstrap_servers).log_values()

    said = [str(warning.message) for warning in caught]
    assert len(said) == (0 if authenticates else 1)
    assert all("set spark.authenticate=true" in each for each in said)
    assert [warning.filename for warning in caught] == [__file__] * len(said)
    assert values == []


def test_application_goes_on_when_the_directory_of_a_stopped_quorum_is_removed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark brings each file of an application to every executor that starts later, and fails tasks without it."""
    monkeypatch.setattr(SparkApplication, "is_one_process", False)
    monkeypatch.setattr(SparkApplication, "authenticates", True)
    QuorumService.start(spark, voters=1, data_dir=tmp_path / "quorum", settings=QUICK).stop()

    shutil.rmtree(tmp_path / "quorum")

    assert spark.sparkContext.parallelize([1, 2], 1).count() == 2
