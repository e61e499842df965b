"""Clients of a local quorum, as other programs have them: with the file that the quorum writes for them."""

from __future__ import annotations

from pathlib import Path

from raft.client import Client, ClientSettings
from raft.config import read_properties
from raft.config.endpoints import addresses
from raft.config.security import client_security


def settings_from(config: Path | str, *, cluster_id: str | None = None, **changes: str) -> ClientSettings:
    """Return the settings of a client.

    Args:
        config: the file `client.properties`.
        cluster_id: see `ClientSettings`.
        changes: of its properties; two underscores stand for a dot. An empty value stands for its default.
    """
    properties = read_properties(Path(config)) | {key.replace("__", "."): value for key, value in changes.items()}
    return ClientSettings(
        bootstrap_servers=addresses("bootstrap.servers", properties["bootstrap.servers"]),
        cluster_id=cluster_id,
        security=client_security(properties),
    )


def client_from(config: Path | str, *, cluster_id: str | None = None) -> Client:
    """Return a client; see `settings_from`."""
    return Client(settings_from(config, cluster_id=cluster_id))
