"""Clients, one for each quorum and process: connections outlive a task, which lasts a moment.

Executors' Python workers are used again for many tasks, and so are the driver's; what a module holds, they keep.
"""

from __future__ import annotations

import os

from raft.client import Client, ClientSettings
from raft.types import Epoch

_clients: dict[tuple[int, ClientSettings], Client] = {}


def client_for(settings: ClientSettings, *, epoch: Epoch = Epoch(0)) -> Client:
    """Return this process's client of a quorum.

    Args:
        settings: where it is.
        epoch: a leader epoch known from elsewhere; leaders of lower ones are not believed.
    """
    # A worker may be forked from one that has clients: sockets are not to be shared.
    key = (os.getpid(), settings)
    client = _clients.get(key)
    if client is None:
        client = _clients[key] = Client(settings)
    client.know_epoch(epoch)
    return client
