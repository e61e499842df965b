"""Listeners that serve clients only: those that `controller.listener.names` does not name.

    listeners=CONTROLLER://10.0.0.1:9093,CLIENT://10.0.0.1:9094
    controller.listener.names=CONTROLLER
    listener.name.client.quorum.voters=1@10.0.0.1:9094,2@10.0.0.2:9094,3@10.0.0.3:9094

A node refuses the requests of voters on these listeners, so a firewall can close the voters' own listener to clients.
A client that connects to such a listener gets the addresses of the same listener on the other voters: those of
`listener.name.<name>.quorum.voters`, by default the voters' hosts with this listener's port.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from raft.config import endpoints, values
from raft.types import Endpoint, NodeId

_VOTERS_KEY = "listener.name.{}.quorum.voters"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientListener:
    """A listener that serves clients only.

    Fields:
        listener: where the node listens.
        advertised: where clients reach it.
        voters: where clients reach each voter by its listener of this name.
    """

    listener: Endpoint
    advertised: Endpoint
    voters: Mapping[NodeId, Endpoint]


def voters_key(name: str) -> str:
    """Return the key with the addresses at which clients reach the voters by a listener of this name."""
    return _VOTERS_KEY.format(name.lower())


def client_listeners(
    given: Mapping[str, str],
    listeners: Iterable[Endpoint],
    *,
    node_id: NodeId,
    voters: Mapping[NodeId, Endpoint],
    advertised: Mapping[str, Endpoint],
) -> tuple[ClientListener, ...]:
    """Return the listeners for clients, with the addresses of the voters.

    Args:
        given: the properties.
        listeners: those that serve clients only.
        node_id: this node.
        voters: where the voters listen for each other.
        advertised: where others reach this node, by the name of the listener; only the listeners that advertise an
            address.

    Raises:
        ConfigError: the addresses are not those of all voters, or two voters have the same address.
    """
    return tuple(_client_listener(given, listener, node_id, voters, advertised) for listener in listeners)


def _client_listener(
    given: Mapping[str, str],
    listener: Endpoint,
    node_id: NodeId,
    voters: Mapping[NodeId, Endpoint],
    advertised: Mapping[str, Endpoint],
) -> ClientListener:
    key = voters_key(listener.name)
    text = given.get(key, "")
    places = endpoints.voters(key, text)
    if text and set(places) != set(voters):
        raise values.refuse(key, text, f"id@host:port for each voter: {', '.join(map(str, sorted(voters)))}")
    if not text:
        places = {voter: Endpoint(endpoint.host, listener.port, listener.name) for voter, endpoint in voters.items()}
    if len({(place.host, place.port) for place in places.values()}) < len(places):
        raise values.refuse(key, text, "id@host:port for each voter, each with an address of its own")
    own = advertised.get(listener.name) or (
        places.get(node_id) if endpoints.is_every_interface(listener.host) else listener
    )
    return ClientListener(
        listener=listener,
        advertised=own or Endpoint("localhost", listener.port, listener.name),
        voters=places,
    )
