"""The layout of a data directory, and the configuration of its voters; no voter is started."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from raft.config import NodeConfig, read_properties
from raft.errors import ConfigError
from raft.local.layout import Layout
from raft.local.listen_address import LOOPBACK, ListenAddress
from raft.local.local_security import LocalSecurity
from raft.local.ports import free_ports
from raft.local.voter_properties import check_properties, voter_properties
from raft.properties import format_properties
from raft.types import NodeId
from tests.node.harness.properties import HOST

ONE = NodeId(1)


def properties_of_one(layout: Layout, settings: Mapping[str, str | int] | None = None) -> dict[str, str]:
    """The properties of the first voter; the directory of the layout exists."""
    security = LocalSecurity.of(layout).voter_properties(ONE)
    return voter_properties(layout, ONE, settings or {}, security=security)


def test_layout_is_kept_when_its_ports_are_free(tmp_path: Path) -> None:
    first = Layout.of(tmp_path, voters=3, base_port=None)
    written_ns = (tmp_path / "quorum.json").stat().st_mtime_ns

    again = Layout.of(tmp_path, voters=3, base_port=None)

    assert again == first
    assert (tmp_path / "quorum.json").stat().st_mtime_ns == written_ns, "nothing changes on the disk"
    assert len({*first.ports.values(), *first.voter_ports.values()}) == 6


def test_ports_that_are_taken_are_replaced_for_good(tmp_path: Path) -> None:
    first = Layout.of(tmp_path, voters=2, base_port=None)

    with socket.create_server((HOST, first.ports[ONE])):
        second = Layout.of(tmp_path, voters=2, base_port=None)
    third = Layout.of(tmp_path, voters=2, base_port=None)

    assert set(second.ports.values()).isdisjoint({first.ports[ONE]})
    assert second.cluster_id == first.cluster_id
    assert third == second
    assert {**second.ports, ONE: first.ports[ONE]} == first.ports, "the other ports are kept"
    assert second.voter_ports == first.voter_ports


def test_new_port_for_clients_is_warned_of_with_the_old_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = Layout.of(tmp_path, voters=2, base_port=None)

    with socket.create_server((HOST, first.ports[ONE])):
        second = Layout.of(tmp_path, voters=2, base_port=None)

    (warning,) = caplog.messages
    assert warning == (
        f"voter 1 listens on port {second.ports[ONE]} instead of {first.ports[ONE]}, which another process uses; "
        f"change bootstrap.servers of other applications to {second.bootstrap_servers}"
    )


@pytest.mark.parametrize("base_port", [None, 30_000], ids=["a port for voters", "ports that were asked for"])
def test_port_is_not_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, base_port: int | None
) -> None:
    first = Layout.of(tmp_path, voters=1, base_port=None)

    monkeypatch.setattr("raft.local.layout.is_free", lambda port, **_: port != first.voter_ports[ONE])
    second = Layout.of(tmp_path, voters=1, base_port=base_port)

    assert second.voter_ports != first.voter_ports
    assert caplog.messages == []


@pytest.mark.parametrize("taken_at", [0, 3], ids=["of clients", "of voters"])
def test_base_port_that_is_in_use_is_refused_with_the_port_that_is(tmp_path: Path, taken_at: int) -> None:
    (base_port,) = free_ports(1, in_a_row=4)

    with socket.create_server((HOST, base_port + taken_at)), pytest.raises(ConfigError) as refused:
        Layout.of(tmp_path, voters=2, base_port=base_port)

    assert str(refused.value) == (
        f"base_port={base_port}: port {base_port + taken_at} on {HOST} is in use by another process; expected 4 free "
        f"ports from {base_port} on"
    )
    assert not (tmp_path / "quorum.json").exists()


def test_voters_listen_for_each_other_apart_from_their_clients(tmp_path: Path) -> None:
    layout = Layout.of(tmp_path, voters=3, base_port=None)

    config = NodeConfig.from_properties(properties_of_one(layout))

    (for_clients,) = config.client_listeners
    assert config.listener.port == layout.voter_ports[ONE]
    assert {voter: endpoint.port for voter, endpoint in config.voters.items()} == layout.voter_ports
    assert for_clients.listener.port == layout.ports[ONE]
    assert {voter: endpoint.port for voter, endpoint in for_clients.voters.items()} == layout.ports
    assert config.verify_voter_addresses


def test_voters_listen_for_clients_alone_on_the_address_that_is_asked_for(tmp_path: Path) -> None:
    layout = Layout.of(tmp_path, voters=2, base_port=None, listen=ListenAddress("127.0.0.2", "driver.example"))

    config = NodeConfig.from_properties(properties_of_one(layout))

    (for_clients,) = config.client_listeners
    assert config.listener.host == HOST
    assert (for_clients.listener.host, for_clients.listener.port) == ("127.0.0.2", layout.ports[ONE])
    assert {endpoint.host for endpoint in for_clients.voters.values()} == {"driver.example"}
    assert layout.bootstrap_servers == ",".join(f"driver.example:{port}" for port in layout.ports.values())
    assert Layout.of(tmp_path, voters=2, base_port=None).listen == LOOPBACK, "the address is not stored"


def test_ports_that_are_taken_on_the_new_address_are_replaced(tmp_path: Path) -> None:
    first = Layout.of(tmp_path, voters=1, base_port=None)

    with socket.create_server(("127.0.0.2", first.ports[ONE])):
        on_loopback = Layout.of(tmp_path, voters=1, base_port=None)
        second = Layout.of(tmp_path, voters=1, base_port=None, listen=ListenAddress("127.0.0.2", "127.0.0.2"))

    assert on_loopback == first
    assert second.ports[ONE] != first.ports[ONE]


def test_another_number_of_voters_is_refused(tmp_path: Path) -> None:
    (tmp_path / "quorum.json").write_text(
        '{"version": 2, "clusterId": "c", "ports": {"1": 1, "2": 2}, "voterPorts": {"1": 3, "2": 4}}'
    )

    with pytest.raises(ConfigError) as refused:
        Layout.of(tmp_path, voters=3, base_port=None)

    assert str(refused.value) == f"{tmp_path} has a quorum of 2 voters, expected 3"


@pytest.mark.parametrize("base_port", [0, -1, 65_531])
def test_ports_that_do_not_exist_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base_port: int) -> None:
    with pytest.raises(ConfigError, match=f"^base_port={base_port}: expected 1 to 65530 for 3 voters$"):
        Layout.of(tmp_path, voters=3, base_port=base_port)

    monkeypatch.setattr("raft.local.layout.is_free", lambda _port, **_: True)
    layout = Layout.of(tmp_path, voters=3, base_port=65_530)
    assert layout.ports == {1: 65_530, 2: 65_531, 3: 65_532}
    assert layout.voter_ports == {1: 65_533, 2: 65_534, 3: 65_535}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{half", "does not describe a quorum: "),
        (b"\xff", "does not describe a quorum: "),
        (b"[]", "does not describe a quorum: "),
        (b'{"version": 2}', "does not describe a quorum: "),
        (b'{"version": 2, "clusterId": "c", "ports": {"x": 1}, "voterPorts": {}}', "does not describe a quorum: "),
        (b'{"version": 2, "clusterId": "c", "ports": {"1": 1}}', "does not describe a quorum: "),
        (b'{"version": 3, "clusterId": "c", "ports": {}}', "has version 3, expected 2"),
        (b'{"version": 1, "clusterId": "c", "ports": {}}', "has version 1, expected 2"),
    ],
)
def test_directory_that_is_not_of_a_quorum_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "quorum.json"
    path.write_bytes(content)

    with pytest.raises(ConfigError) as refused:
        Layout.of(tmp_path, voters=3, base_port=None)

    assert str(refused.value).startswith(f"{path} {message}")


@pytest.mark.parametrize("name", ["a b", "ü€", "#!=:", "back\\slash"])
def test_voter_reads_its_configuration_as_it_was_meant_in_a_directory_of_any_name(tmp_path: Path, name: str) -> None:
    layout = Layout.of(tmp_path, voters=1, base_port=None)
    layout = replace(layout, data_dir=tmp_path / name)
    layout.data_dir.mkdir()
    properties = properties_of_one(layout, {"message.max.bytes": 20_000})
    file = tmp_path / "node.properties"

    file.write_text(format_properties(properties))

    assert check_properties(properties) == ()
    config = NodeConfig.from_properties(read_properties(file))
    assert (config.log_dir, config.cluster_id) == (tmp_path / name / "node-1" / "log", layout.cluster_id)
    assert (config.listener.port, config.message_max_bytes) == (layout.voter_ports[ONE], 20_000)
    assert config.authorization is not None
    assert config.authorization.file == str(tmp_path / name / "authorization.toml")
    credentials = {security.credentials_file for security in config.security.values()}
    assert credentials == {str(tmp_path / name / "credentials.json")}


def test_directory_with_a_comma_is_refused(tmp_path: Path) -> None:
    layout = Layout(data_dir=tmp_path / "a,b", cluster_id="c", ports={ONE: 9093}, voter_ports={ONE: 9094})
    layout.data_dir.mkdir()

    with pytest.raises(ConfigError, match=r"^log\.dirs=.*/a,b/node-1/log: expected one directory"):
        check_properties(properties_of_one(layout))


@pytest.mark.parametrize(
    "key", ["node.id", "log.dirs", "metadata.log.dir", "controller.quorum.voters", "raft.authorization.file"]
)
def test_setting_that_is_the_quorums_own_is_refused(tmp_path: Path, key: str) -> None:
    layout = Layout.of(tmp_path, voters=1, base_port=None)

    with pytest.raises(ConfigError, match=f"^{key}=7: expected other settings"):
        properties_of_one(layout, {key: 7})
