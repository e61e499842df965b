"""Clients, one for each quorum and process: connections outlive a task, which lasts a moment.

Spark uses the Python workers of executors and driver for many tasks, and they keep what a module holds.
"""

from __future__ import annotations

import os

from datasource.spark_files import locate, with_handed_security
from raft.client import Client, ClientSettings
from raft.types import Epoch

_clients: dict[tuple[int, ClientSettings], Client] = {}


def new_client(settings: ClientSettings) -> Client:
    """Return a new client, with the files and the credentials of this process.

    Args:
        settings: where the quorum is.
    """
    return Client(with_handed_security(settings), locate=locate)


def client_for(settings: ClientSettings, *, cluster_id: str | None = None, epoch: Epoch = Epoch(0)) -> Client:
    """Return this process's client of a quorum, which knows of the quorum what is given here and nothing else.

    A client that knows exactly this from an earlier task also keeps the leader that it found, so the task need not ask
    for it. The leader is known only as long as the connection to it, so it is still a node of the same quorum. In all
    other cases the client looks for the leader again: another quorum may have the addresses by now, or the log was
    replaced and began again at a lower epoch.

    Args:
        settings: where the quorum is.
        cluster_id: see `Client.start_over`.
        epoch: see `Client.start_over`.
    """
    # A worker may be forked from one that has clients: sockets must not be shared.
    key = (os.getpid(), with_handed_security(settings))
    client = _clients.get(key)
    if client is None:
        client = _clients[key] = new_client(settings)
    if (client.cluster_id, client.epoch) != (cluster_id, epoch):
        client.start_over(cluster_id=cluster_id, epoch=epoch)
    return client
