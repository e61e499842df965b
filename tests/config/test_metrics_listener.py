"""Where a node serves its metrics: `metrics.listeners`."""

from __future__ import annotations

import pytest

from raft.errors import ConfigError
from raft.types import Endpoint
from tests.config.test_node import config


@pytest.mark.parametrize(
    ("value", "listener"),
    [
        pytest.param("HTTP://localhost:9404", Endpoint("localhost", 9404, "HTTP"), id="a name"),
        pytest.param("http://127.0.0.1:9404", Endpoint("127.0.0.1", 9404, "HTTP"), id="in lower case"),
        pytest.param("HTTP://:9404", Endpoint("", 9404, "HTTP"), id="all interfaces"),
        pytest.param("HTTP://[::1]:9404", Endpoint("::1", 9404, "HTTP"), id="an IPv6 address"),
        pytest.param("", None, id="empty"),
        pytest.param(None, None, id="not given"),
    ],
)
def test_listener_for_metrics_is_read(value: str | None, listener: Endpoint | None) -> None:
    assert config(metrics__listeners=value).metrics_listener == listener


@pytest.mark.parametrize(
    "value",
    [
        "9404",
        "localhost:9404",
        "HTTP://localhost",
        "HTTP://localhost:0",
        "HTTP://localhost:65536",
        "PLAINTEXT://localhost:9404",
        "HTTP://localhost:9404/metrics",
        "HTTP://one:9404,HTTP://two:9404",
    ],
)
def test_other_listeners_for_metrics_are_refused(value: str) -> None:
    with pytest.raises(ConfigError) as refused:
        config(metrics__listeners=value)

    expected = "HTTP://host:port or HTTPS://host:port, such as HTTP://localhost:9404, with a port of 1 to 65535"
    assert str(refused.value) == f"metrics.listeners={value}: expected {expected}"


def test_host_that_is_none_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"^metrics\.listeners=HTTP://a b:9404: expected the name or address of a host"
    ):
        config(metrics__listeners="HTTP://a b:9404")


def test_listener_with_tls_needs_a_certificate() -> None:
    with pytest.raises(ConfigError, match=r"^ssl\.keystore\.location is missing: .* because HTTPS is SSL$"):
        config(metrics__listeners="HTTPS://localhost:9404")


def test_listener_with_tls_has_its_own_certificate() -> None:
    made = config(
        metrics__listeners="HTTPS://localhost:9404",
        listener__name__https__ssl__keystore__type="PEM",
        listener__name__https__ssl__keystore__location="metrics.pem",
    )

    assert made.metrics_listener == Endpoint("localhost", 9404, "HTTPS")
    assert made.metrics_security is not None
    assert made.metrics_security.tls is not None
    assert made.metrics_security.tls.keystore == "metrics.pem"
