"""Listeners that serve clients only."""

from __future__ import annotations

import pytest

from raft.config import NodeConfig
from raft.errors import ConfigError
from raft.types import Endpoint
from tests.config.test_node import config

BOTH = "CONTROLLER://one:9093,CLIENT://one:9094"


def both(**changes: str | None) -> NodeConfig:
    """Node 1 of three, with a listener for each kind."""
    return config(**{"listeners": BOTH, "controller__listener__names": "CONTROLLER", **changes})


def at(host: str, port: int) -> Endpoint:
    return Endpoint(host, port, "CLIENT")


def test_listener_that_is_not_named_for_controllers_serves_clients() -> None:
    taken = both()

    (for_clients,) = taken.client_listeners
    assert taken.listener == Endpoint("one", 9093, "CONTROLLER")
    assert for_clients.listener == at("one", 9094)
    assert for_clients.advertised == at("one", 9094)


def test_other_voters_are_taken_to_have_the_same_port() -> None:
    (for_clients,) = both().client_listeners

    assert dict(for_clients.voters) == {1: at("one", 9094), 2: at("two", 9094), 3: at("::1", 9094)}


def test_other_voters_are_where_the_configuration_says() -> None:
    places = "1@one:1,2@two:2,3@two:3"

    (for_clients,) = both(listener__name__client__quorum__voters=places).client_listeners

    assert [str(place) for place in for_clients.voters.values()] == ["one:1", "two:2", "two:3"]
    assert both().warnings == both(listener__name__client__quorum__voters=places).warnings, "the key is known"


@pytest.mark.parametrize("name", ["SSL", "SASL"])
def test_name_of_a_listener_is_not_taken_for_a_key_of_its_security(name: str) -> None:
    places = "1@one:1,2@two:2,3@three:3"

    (for_clients,) = both(
        listeners=f"CONTROLLER://one:9093,{name}://one:9094",
        listener__security__protocol__map=f"{name}:PLAINTEXT",
        **{f"listener__name__{name.lower()}__quorum__voters": places},
    ).client_listeners

    assert [str(place) for place in for_clients.voters.values()] == ["one:1", "two:2", "three:3"]


@pytest.mark.parametrize(
    "places",
    [
        pytest.param("1@one:1,2@two:2", id="one voter less"),
        pytest.param("1@one:1,2@two:2,3@three:3,4@four:4", id="one voter more"),
    ],
)
def test_places_of_others_than_the_voters_are_refused(places: str) -> None:
    with pytest.raises(ConfigError) as refused:
        both(listener__name__client__quorum__voters=places)

    assert str(refused.value).startswith(f"listener.name.client.quorum.voters={places}: expected id@host:port")


def test_voters_on_one_host_cannot_be_guessed() -> None:
    with pytest.raises(ConfigError, match=r"^listener\.name\.client\.quorum\.voters=: expected id@host"):
        both(controller__quorum__voters="1@one:1,2@one:2,3@one:3")


def test_node_that_listens_everywhere_is_where_its_entry_says() -> None:
    (for_clients,) = both(listeners="CONTROLLER://one:9093,CLIENT://:9094").client_listeners

    assert for_clients.advertised == Endpoint("one", 9094, "CLIENT")


def test_node_is_where_it_says() -> None:
    (for_clients,) = both(advertised__listeners="CLIENT://public.example.org:1994").client_listeners

    assert for_clients.advertised == at("public.example.org", 1994)


def test_listener_for_clients_is_never_served_in_clear_when_its_protocol_is_another_one() -> None:
    with pytest.raises(ConfigError, match=r"^ssl\.keystore\.location is missing: .* because CLIENT is SSL$"):
        both(listener__security__protocol__map="CLIENT:SSL")


def test_several_listeners_need_the_name_of_that_for_voters() -> None:
    with pytest.raises(ConfigError, match=r"of which controller\.listener\.names names the one for voters"):
        both(controller__listener__names=None)
