"""Files that Spark brings to a process: those that options name, and the credentials of a quorum of the application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark import SparkFiles

from datasource.spark_files import (
    handed_name,
    handed_properties,
    locate,
    stopped_name,
    stopped_properties,
    stopped_quorum,
    with_handed_security,
)
from raft.client import ClientSettings
from raft.config.endpoints import addresses
from raft.config.security import NO_SECURITY, client_security, login_module
from raft.errors import ConfigError
from raft.properties import format_properties
from raft.security.references import resolve

SETTINGS = ClientSettings(bootstrap_servers=addresses("servers", "node1:1,node2:2"))


@pytest.fixture
def application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the files of an application; the working directory is another one."""
    for name in ("files", "working"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "working")
    monkeypatch.setattr(SparkFiles, "_root_directory", str(tmp_path / "files"))
    return tmp_path / "files"


def test_relative_location_is_a_file_of_the_application_before_one_of_the_working_directory(application: Path) -> None:
    (application / "authority.pem").touch()
    Path("authority.pem").touch()
    Path("mine.pem").touch()

    assert locate("authority.pem") == application / "authority.pem"
    assert locate("mine.pem") == Path("mine.pem")


def test_session_of_a_stream_finds_the_files_of_its_application(
    application: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (application / "authority.pem").touch()
    monkeypatch.setattr(SparkFiles, "_root_directory", str(application / "session-1"))

    assert locate("authority.pem") == application / "authority.pem"


def test_absolute_location_stays_as_it_is(application: Path, tmp_path: Path) -> None:
    (tmp_path / "authority.pem").touch()

    assert locate(str(tmp_path / "authority.pem")) == tmp_path / "authority.pem"


@pytest.mark.parametrize("location", ["no-such.pem", "/no/such.pem"])
def test_missing_file_is_an_error_that_says_how_spark_brings_files(application: Path, location: str) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"no such file on host \S+; .* \(spark\.files, SparkContext\.addFile\)"
    ):
        locate(location)


def test_process_without_an_application_has_only_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkFiles, "_root_directory", None)
    monkeypatch.chdir(tmp_path)
    Path("mine.pem").touch()

    assert locate("mine.pem") == Path("mine.pem")
    assert with_handed_security(SETTINGS) == SETTINGS


def test_references_name_files_of_the_application(application: Path) -> None:
    (application / "secrets.properties").write_text("password=from a key\n")
    (application / "token").write_text("from a file\n")

    assert resolve("${file:secrets.properties:password}", locate) == "from a key"
    assert resolve("${directory:.:token}", locate) == "from a file"
    with pytest.raises(ConfigError, match=r"^\$\{file:none\.properties:password\}: no such file on host "):
        resolve("${file:none.properties:password}", locate)


def _jaas(user: str) -> str:
    return f'{login_module("SCRAM-SHA-256")} required username="{user}" password="secret";'


def _security(user: str) -> dict[str, str]:
    mechanism = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256"}
    return mechanism | {"sasl.jaas.config": _jaas(user)}


def _hand_over(folder: Path, security: Mapping[str, str], servers: str, *, created_ms: int) -> None:
    properties = handed_properties(security, bootstrap_servers=servers, created_ms=created_ms)
    (folder / handed_name(f"{created_ms:032x}")).write_text(format_properties(properties))


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        pytest.param("node1:1,node2:2", "later", id="all nodes"),
        pytest.param("node2:2", "later", id="one node"),
        pytest.param("node2:2,elsewhere:9", None, id="one of them and another one"),
        pytest.param("other:7", "other", id="another quorum"),
        pytest.param("node1:2", None, id="another port"),
        pytest.param("unknown:1", None, id="another host"),
    ],
)
@pytest.mark.rule("AUTH-13")
def test_quorum_gives_its_credentials_to_clients_of_its_addresses(
    application: Path, servers: str, expected: str | None
) -> None:
    _hand_over(application, _security("later"), "node1:1,node2:2", created_ms=2)
    _hand_over(application, _security("earlier"), "node1:1,node2:2", created_ms=1)
    _hand_over(application, _security("other"), "other:7", created_ms=3)

    settings = replace(SETTINGS, bootstrap_servers=addresses("servers", servers))
    found = with_handed_security(settings)

    security = None if expected is None else client_security(_security(expected))
    assert found == replace(settings, security=security)


def test_options_of_the_user_win_over_credentials_that_were_handed_over(application: Path) -> None:
    _hand_over(application, _security("later"), "node1:1", created_ms=2)
    settings = ClientSettings(bootstrap_servers=addresses("servers", "node1:1"), security=NO_SECURITY)

    assert with_handed_security(settings) == settings


def test_security_of_the_user_wins(application: Path) -> None:
    _hand_over(application, _security("application"), "node1:1", created_ms=1)
    settings = replace(SETTINGS, security=client_security(_security("the user's")))

    assert with_handed_security(settings) is settings


def hand_over_at(application: Path, servers: str, *, created_ms: int) -> None:
    properties = handed_properties({}, bootstrap_servers=servers, created_ms=created_ms)
    (application / handed_name(f"at-{created_ms}")).write_text(format_properties(properties))


def stop_at(application: Path, data_dir: str, servers: str, *, stopped_ms: int) -> None:
    properties = stopped_properties(data_dir, bootstrap_servers=servers, stopped_ms=stopped_ms)
    (application / stopped_name(f"at-{stopped_ms}")).write_text(format_properties(properties))


FAILURE = "no leader found within 9 ms: node1:20001: Connection refused; node2:20002: no response in time"


def test_error_about_a_quorum_that_the_application_has_stopped_is_known(application: Path) -> None:
    hand_over_at(application, "node1:20001,node2:20002", created_ms=1)
    assert stopped_quorum(FAILURE) is None, "it runs"

    stop_at(application, "/first", "node1:20001,node2:20002", stopped_ms=5)
    stop_at(application, "/other", "node1:2000", stopped_ms=9)

    assert stopped_quorum(FAILURE) == "/first"


def test_quorum_that_was_started_again_is_not_stopped(application: Path) -> None:
    stop_at(application, "/first", "node1:20001", stopped_ms=5)
    hand_over_at(application, "node1:20001", created_ms=6)

    assert stopped_quorum(FAILURE) is None


def test_last_of_two_stopped_quorums_counts(application: Path) -> None:
    stop_at(application, "/second", "node2:20002", stopped_ms=7)
    stop_at(application, "/first", "node1:20001", stopped_ms=5)

    assert stopped_quorum(FAILURE) == "/second"
