"""Clients, one for each quorum and process: connections outlive a task, which lasts a moment.

Executors' Python workers are used again for many tasks, and so are the driver's; what a module holds, they keep.
"""

from __future__ import annotations

import os

from raft.client import Client, ClientSettings
from raft.types import Epoch

_clients: dict[tuple[int, ClientSettings], Client] = {}


def client_for(settings: ClientSettings, *, cluster_id: str | None = None, epoch: Epoch = Epoch(0)) -> Client:
    """Return this process's client of a quorum; it knows what is told here, and nothing of earlier reads and writes.

    Where a quorum was may be another one by now.

    Args:
        settings: where it is.
        cluster_id: see `Client.start_over`.
        epoch: see there too.
    """
    # A worker may be forked from one that has clients: sockets are not to be shared.
    key = (os.getpid(), settings)
    client = _clients.get(key)
    if client is None:
        client = _clients[key] = Client(settings)
    client.start_over(cluster_id=cluster_id, epoch=epoch)
    return client
