"""The secrets of a local quorum: made at its first start, kept for later ones, and readable for their owner only."""

from __future__ import annotations

import json
import shutil
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.client import Client
from raft.errors import AuthenticationError, ConfigError
from raft.local import ListenAddress, LocalQuorum
from raft.properties import parse_properties
from tests.local.client_config import client_from, settings_from
from tests.local.conftest import QUICK
from tests.node.harness.batches import batch_of
from tests.processes.commands import child_environment
from tests.processes.piped_process import PipedProcess
from tests.upgrade.release import unpack
from tests.workload.committed import read_all

_MADE_BY_SECURITY = ("secrets.json", "credentials.json", "authorization.toml", "client.properties")
_BEYOND_LOOPBACK = ListenAddress("127.0.0.3", "127.0.0.3")


@pytest.fixture(scope="module")
def used_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a quorum that has run on loopback and beyond it, and holds a record."""
    folder = tmp_path_factory.mktemp("used") / "quorum"
    with LocalQuorum.start(folder, voters=1, settings=QUICK) as quorum, client_from(quorum.client_config) as client:
        client.append(batch_of(b"kept"))
    LocalQuorum.start(folder, voters=1, settings=QUICK, listen=_BEYOND_LOOPBACK).stop()
    return folder


@pytest.fixture
def data_dir(used_dir: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(used_dir, tmp_path / "quorum", symlinks=True)
    return tmp_path / "quorum"


def kept_values(quorum: LocalQuorum) -> list[bytes | None]:
    """The values in its log, as a client with its file reads them."""
    with client_from(quorum.client_config) as client:
        return [record.value for record in read_all(client)]


def open_to_others(folder: Path) -> Iterator[str]:
    """Yield the files and folders that other users may read, enter or write."""
    for path in (folder, *folder.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode != (0o700 if path.is_dir() else 0o600):
            yield f"{path}: {mode:04o}"


@pytest.mark.rule("AUTH-12")
def test_all_files_are_for_their_owner_only(used_dir: Path) -> None:
    assert (used_dir / "node-1" / "node.pem").exists()
    assert list(open_to_others(used_dir)) == []


def test_later_start_keeps_passwords_and_authority(data_dir: Path) -> None:
    names = ("secrets.json", "authority.pem")
    before = [(data_dir / name).read_bytes() for name in names]
    client_before = parse_properties((data_dir / "client.properties").read_text())

    with LocalQuorum.start(data_dir, voters=1, settings=QUICK, listen=_BEYOND_LOOPBACK) as quorum:
        assert kept_values(quorum) == [b"kept"]

    client_now = parse_properties((data_dir / "client.properties").read_text())
    assert [(data_dir / name).read_bytes() for name in names] == before
    assert client_now["sasl.jaas.config"] == client_before["sasl.jaas.config"]
    assert client_now["ssl.truststore.certificates"] == client_before["ssl.truststore.certificates"]


def test_quorum_without_secrets_gets_new_ones_and_refuses_the_old_ones(data_dir: Path, tmp_path: Path) -> None:
    shutil.copy(data_dir / "client.properties", tmp_path / "old.properties")
    for name in _MADE_BY_SECURITY:
        (data_dir / name).unlink()

    with LocalQuorum.start(data_dir, voters=1, settings=QUICK, listen=_BEYOND_LOOPBACK) as quorum:
        assert kept_values(quorum) == [b"kept"]
        old = settings_from(tmp_path / "old.properties", bootstrap__servers=quorum.bootstrap_servers)
        with (
            Client(old) as client,
            pytest.raises(AuthenticationError, match=r"the node refused the credentials in sasl\.jaas\.config"),
        ):
            client.last_stable_offset()


def test_quorum_of_the_last_release_goes_on(tmp_path: Path) -> None:
    release, data_dir = unpack(tmp_path / "release"), tmp_path / "quorum"
    command = [*release.kraft, "dev", "--voters", "1", "--data-dir", str(data_dir)]
    with PipedProcess("dev", command, environment=child_environment(), folder=tmp_path) as dev:
        assert dev.line(), dev.errors
        dev.signal(signal.SIGINT)
        dev.wait()
    cluster_id = json.loads((data_dir / "quorum.json").read_text())["clusterId"]

    with LocalQuorum.start(data_dir, voters=1, settings=QUICK) as quorum:
        assert quorum.cluster_id == cluster_id
        assert kept_values(quorum) == []

    assert all((data_dir / name).stat().st_mode & 0o077 == 0 for name in _MADE_BY_SECURITY)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"passwords": {"application": "x"', id="cut"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"passwords": {"node-1": "x"}}', id="without the application"),
        pytest.param(b'{"passwords": {"application": null}}', id="null"),
        pytest.param(b'{"passwords": {"application": ""}}', id="an empty password"),
    ],
)
def test_damaged_secrets_are_an_error_that_says_what_to_do(data_dir: Path, content: bytes) -> None:
    (data_dir / "secrets.json").write_bytes(content)

    with pytest.raises(ConfigError) as refused:
        LocalQuorum.start(data_dir, voters=1)

    assert str(refused.value) == (
        f"{data_dir / 'secrets.json'} is damaged: expected the password of application. Remove it, and the next "
        "start makes a new one"
    )


def test_damaged_authority_is_an_error_that_says_what_to_do(data_dir: Path) -> None:
    (data_dir / "authority.pem").write_text("damaged")

    with pytest.raises(ConfigError) as refused:
        LocalQuorum.start(data_dir, voters=1, listen=_BEYOND_LOOPBACK)

    assert str(refused.value) == (
        f"{data_dir / 'authority.pem'} is damaged: expected a certificate authority and its key. Remove it, and the "
        "next start makes a new one"
    )
