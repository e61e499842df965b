"""Metrics of a node over HTTPS, and what they say about its certificates."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPSConnection

import pytest

from raft.local.ports import free_ports
from tests.hang import HANG_S
from tests.metrics.http_client import ask
from tests.metrics.scraped import Scrape
from tests.node.harness.keys import Keys
from tests.node.harness.properties import HOST
from tests.node.harness.secured import VOTERS
from tests.node.harness.secured_node import BOTH, ENCRYPTED, MUTUAL, SecuredNodes, secured_nodes
from tests.node.harness.waiting import eventually

LOOK_S = 1.1
EXPIRY = "kraft_certificate_expiry_timestamp_seconds"


class SecuredMetrics:
    """A node that serves its metrics over HTTPS to clients with a certificate."""

    def __init__(self, node: SecuredNodes, port: int) -> None:
        self.node = node
        self.port = port

    def get(self, tls: ssl.SSLContext) -> tuple[Scrape, str]:
        """Return the metrics, and the serial number of the certificate that they came with."""
        with closing(HTTPSConnection(HOST, self.port, timeout=HANG_S, context=tls)) as connection:
            connection.request("GET", "/metrics")
            assert isinstance(connection.sock, ssl.SSLSocket)
            certificate = connection.sock.getpeercert()
            assert certificate is not None
            return Scrape(connection.getresponse().read().decode()), str(certificate["serialNumber"])


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredMetrics]:
    """A node that serves its metrics over HTTPS to clients with a certificate."""
    folder = tmp_path_factory.mktemp("metrics")
    keys = Keys(folder)
    (port,) = free_ports(1)
    overrides = {
        "metrics.listeners": f"HTTPS://{HOST}:{port}",
        "listener.name.https.ssl.keystore.location": str(keys.certificate("metrics", lifetime=timedelta(days=90))),
        "listener.name.https.ssl.truststore.location": str(keys.truststore),
        "listener.name.https.ssl.client.auth": "required",
    }
    with secured_nodes(folder, keys=keys, overrides=overrides) as node:
        yield SecuredMetrics(node, port)


@pytest.fixture
def scraper(metrics: SecuredMetrics) -> ssl.SSLContext:
    """The TLS of a scraper with a certificate."""
    return metrics.node.keys.tls(metrics.node.keys.certificate("prometheus", ()))


def test_metrics_say_when_each_certificate_expires(metrics: SecuredMetrics, scraper: ssl.SSLContext) -> None:
    scrape, _ = metrics.get(scraper)

    expected_days = {**dict.fromkeys([VOTERS, BOTH, MUTUAL, ENCRYPTED], 365), "HTTPS": 90}
    assert {labels["listener"] for labels in scrape.labels_of(EXPIRY)} == set(expected_days)
    for listener, days in expected_days.items():
        expires_at = datetime.fromtimestamp(scrape.value(EXPIRY, listener=listener) or 0, UTC)
        assert abs(expires_at - datetime.now(UTC) - timedelta(days=days)) < timedelta(minutes=10)


def test_scraper_without_a_certificate_gets_nothing(metrics: SecuredMetrics) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        metrics.get(metrics.node.keys.tls())


def test_scraper_without_tls_gets_nothing(metrics: SecuredMetrics) -> None:
    with pytest.raises(ConnectionError):
        ask(metrics.port, "/metrics")


@pytest.mark.rule("AUTH-11")
def test_renewed_certificate_is_in_use_after_the_next_look(metrics: SecuredMetrics, scraper: ssl.SSLContext) -> None:
    _, before = metrics.get(scraper)

    metrics.node.keys.certificate("metrics")
    metrics.node.nodes.thread.jump(LOOK_S)

    eventually(lambda: metrics.get(scraper)[1] != before, "the renewed certificate is in use")
