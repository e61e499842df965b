"""A key for TLS or SASL that no listener uses is refused: its listener would be less protected than the key says."""

from __future__ import annotations

import pytest

from raft.config import NodeConfig
from raft.errors import ConfigError
from tests.config.test_node import config

BOTH = {"listeners": "CONTROLLER://one:9093,CLIENT://one:9094", "controller.listener.names": "CONTROLLER"}
KEYSTORE = {"ssl.keystore.location": "k.pem"}
CLIENT_USES_TLS = {**BOTH, **KEYSTORE, "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,CLIENT:SSL"}


def configured(given: dict[str, str]) -> NodeConfig:
    return config(**{key.replace(".", "__"): value for key, value in given.items()})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"ssl.client.auth": "required"}, "ssl.client.auth has no effect, because no listener uses it", id="TLS"
        ),
        pytest.param(
            {"ssl.keystore.location": "k.pem", "listener.security.protocol.map": "CONTROLLER:PLAINTEXT"},
            "ssl.keystore.location has no effect, because no listener uses it",
            id="TLS, and the map says PLAINTEXT",
        ),
        pytest.param(
            {"sasl.enabled.mechanisms": "SCRAM-SHA-512"},
            "sasl.enabled.mechanisms has no effect, because no listener uses it",
            id="SASL",
        ),
        pytest.param(
            {**CLIENT_USES_TLS, "sasl.enabled.mechanisms": "SCRAM-SHA-512"},
            "sasl.enabled.mechanisms has no effect, because no listener uses it",
            id="SASL where there is only TLS",
        ),
        pytest.param(
            {**CLIENT_USES_TLS, "listener.name.controller.ssl.client.auth": "required"},
            "listener.name.controller.ssl.client.auth has no effect, because CONTROLLER is PLAINTEXT",
            id="TLS of a listener without it",
        ),
        pytest.param(
            {**CLIENT_USES_TLS, "listener.name.client.plain.sasl.jaas.config": "planted-secret"},
            "listener.name.client.plain.sasl.jaas.config has no effect, because CLIENT is SSL",
            id="SASL of a listener with TLS",
        ),
        pytest.param(
            {**CLIENT_USES_TLS, "listener.name.client.sasl.enabled.mechanisms": "PLAIN"},
            "listener.name.client.sasl.enabled.mechanisms has no effect, because CLIENT is SSL",
            id="mechanisms of a listener with TLS",
        ),
    ],
)
@pytest.mark.rule("AUTH-1")
def test_node_refuses_a_key_that_protects_nothing(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        configured(given)

    assert str(refused.value) == f"{message}: remove it, or change listener.security.protocol.map"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(CLIENT_USES_TLS, id="one of two listeners"),
        pytest.param({"metrics.listeners": "HTTPS://:9404", **KEYSTORE}, id="the listener of metrics"),
        pytest.param({"connections.max.reauth.ms": "1", "raft.scram.credentials.file": "c.json"}, id="harmless keys"),
    ],
)
def test_node_accepts_keys_that_one_listener_uses(given: dict[str, str]) -> None:
    assert configured(given).warnings == ()
