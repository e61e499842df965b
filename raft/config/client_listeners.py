"""Listeners that serve clients only: those that `controller.listener.names` does not name.

    listeners=CONTROLLER://10.0.0.1:9093,CLIENT://10.0.0.1:9094
    controller.listener.names=CONTROLLER
    listener.name.client.quorum.voters=1@10.0.0.1:9094,2@10.0.0.2:9094,3@10.0.0.3:9094

Requests in a voter's name are refused there, so the voters' own listener can be closed off from clients. Clients that
come in by such a listener are told of the same listener of the other voters: at the addresses of
`listener.name.<name>.quorum.voters`, by default at the voters' hosts and this listener's port.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from raft.config import values
from raft.types import Endpoint, NodeId

EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - values to recognise, nothing is bound here
"""Hosts of a listener on every interface."""

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


def voters_key(listener: Endpoint) -> str:
    """The key that says where clients reach the voters by a listener of this name."""
    return _VOTERS_KEY.format(listener.name.lower())


def client_listeners(
    given: Mapping[str, str],
    listeners: Iterable[Endpoint],
    *,
    node_id: NodeId,
    voters: Mapping[NodeId, Endpoint],
    advertised: Mapping[str, Endpoint],
) -> tuple[ClientListener, ...]:
    """Read what there is to know of the listeners for clients.

    Args:
        given: the properties.
        listeners: those that serve clients only.
        node_id: this node.
        voters: where the voters listen for each other.
        advertised: where others reach this node, by the names of listeners, where that is given.

    Raises:
        ConfigError: nothing says where clients reach the voters; or it says so of others than the voters.
    """
    return tuple(_client_listener(given, listener, node_id, voters, advertised) for listener in listeners)


def _client_listener(
    given: Mapping[str, str],
    listener: Endpoint,
    node_id: NodeId,
    voters: Mapping[NodeId, Endpoint],
    advertised: Mapping[str, Endpoint],
) -> ClientListener:
    key = voters_key(listener)
    text = given.get(key, "")
    places = values.voters(key, text)
    if text and set(places) != set(voters):
        raise values.refuse(key, text, f"is id@host:port for each voter: {', '.join(map(str, sorted(voters)))}")
    if not text:
        places = {voter: Endpoint(endpoint.host, listener.port, listener.name) for voter, endpoint in voters.items()}
    if len({(place.host, place.port) for place in places.values()}) < len(places):
        raise values.refuse(key, text, "is id@host:port for each voter, each at a place of its own")
    own = advertised.get(listener.name) or (listener if listener.host not in EVERYWHERE else places.get(node_id))
    return ClientListener(
        listener=listener,
        advertised=own or Endpoint("localhost", listener.port, listener.name),
        voters=places,
    )
