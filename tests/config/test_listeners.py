"""Where a node listens, and which addresses it advertises."""

from __future__ import annotations

import pytest

from raft.errors import ConfigError
from raft.types import Endpoint
from tests.config.test_node import config


def advertised(**changes: str | None) -> Endpoint:
    return config(**changes).advertised


@pytest.mark.parametrize(
    ("protocols", "listener", "protocol"),
    [
        pytest.param("CONTROLLER:SSL", "CONTROLLER", "SSL", id="mapped to SSL"),
        pytest.param("controller:sasl_ssl", "CONTROLLER", "SASL_SSL", id="in lower case"),
        pytest.param("A:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT", "CONTROLLER", "SASL_PLAINTEXT", id="one of two"),
        pytest.param("", "SSL", "SSL", id="by its name"),
        pytest.param("OTHER:PLAINTEXT", "SASL_SSL", "SASL_SSL", id="by its name, others mapped"),
    ],
)
def test_listener_is_never_served_in_clear_when_its_protocol_is_another_one(
    protocols: str, listener: str, protocol: str
) -> None:
    missing = "sasl.enabled.mechanisms" if protocol == "SASL_PLAINTEXT" else "ssl.keystore.location"

    with pytest.raises(ConfigError, match=f"^{missing} is missing: expected "):
        config(listeners=f"{listener}://one:9093", listener__security__protocol__map=protocols)


def test_unknown_protocol_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        config(listener__security__protocol__map="CONTROLLER:NONSENSE")

    assert str(refused.value) == (
        "listener.security.protocol.map=CONTROLLER:NONSENSE: expected CONTROLLER:<one of PLAINTEXT, SSL, "
        "SASL_PLAINTEXT, SASL_SSL>"
    )


@pytest.mark.parametrize(
    ("protocols", "listener"),
    [
        pytest.param("", "CONTROLLER", id="any other name"),
        pytest.param("CONTROLLER:PLAINTEXT", "CONTROLLER", id="mapped"),
        pytest.param("SSL:PLAINTEXT", "SSL", id="mapped against its name"),
        pytest.param("", "plaintext", id="in lower case"),
    ],
)
def test_plaintext_listener_is_taken(protocols: str, listener: str) -> None:
    taken = config(listeners=f"{listener}://one:9093", listener__security__protocol__map=protocols)

    assert taken.listener == Endpoint("one", 9093, listener.upper())


def test_listener_of_the_controller_is_the_one_that_counts() -> None:
    taken = config(listeners="BROKER://one:9092,CONTROLLER://one:9093", controller__listener__names="controller")

    assert taken.listener == Endpoint("one", 9093, "CONTROLLER")


def test_controller_name_that_no_listener_has_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^listeners=CONTROLLER://one:9093: expected one listener"):
        config(controller__listener__names="OTHER")


def test_listener_may_be_of_ipv6() -> None:
    assert config(listeners="CONTROLLER://[::1]:9093").listener == Endpoint("::1", 9093, "CONTROLLER")


def test_node_is_where_it_listens() -> None:
    assert advertised(listeners="CONTROLLER://ten.example.org:9093") == Endpoint("ten.example.org", 9093, "CONTROLLER")


def test_node_is_where_it_says() -> None:
    told = advertised(advertised__listeners="OTHER://x:1,CONTROLLER://public.example.org:1993")

    assert told == Endpoint("public.example.org", 1993, "CONTROLLER")


@pytest.mark.parametrize("everywhere", ["", "0.0.0.0", "[::]"])
def test_voter_that_listens_everywhere_is_where_the_others_look_for_it(everywhere: str) -> None:
    assert advertised(listeners=f"CONTROLLER://{everywhere}:9093", node__id="2") == Endpoint("two", 9094, "CONTROLLER")


def test_observer_that_listens_everywhere_is_on_this_machine() -> None:
    assert advertised(listeners="CONTROLLER://:9999", node__id="9") == Endpoint("localhost", 9999, "CONTROLLER")


def test_listener_says_its_address_in_words() -> None:
    assert str(config(listeners="CONTROLLER://[::1]:9093").listener) == "[::1]:9093"


@pytest.mark.parametrize(
    "protocols", ["CONTROLLER=SSL", "CONTROLLER", "CONTROLLER SSL", "CONTROLLER:", ":SSL", "CONTROLLER:SSL:X"]
)
def test_malformed_protocol_map_is_refused_and_does_not_mean_plaintext(protocols: str) -> None:
    with pytest.raises(ConfigError) as refused:
        config(listener__security__protocol__map=protocols)

    assert str(refused.value).startswith(f"listener.security.protocol.map={protocols}: expected NAME:PROTOCOL,...")
