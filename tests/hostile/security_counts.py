"""What the nodes have counted of authentications and rules, as their metrics say it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Self

from tests.metrics.http_client import ask
from tests.metrics.scraped import Scrape, port_of_metrics
from tests.processes.node_process import NodeProcess

_PREFIX = "kafka_server_socket_server_metrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityCounts:
    """Sums over all nodes and listeners.

    Fields:
        authenticated: names that were proved, not counting those that were proved again.
        failed: names that were not proved, and handshakes of TLS that have failed.
        expired: connections whose session was over.
        refused: requests that the rules do not allow.
        dropped: connections that the nodes have closed.
    """

    authenticated: int = 0
    failed: int = 0
    expired: int = 0
    refused: int = 0
    dropped: int = 0

    @classmethod
    def of(cls, nodes: Iterable[NodeProcess]) -> Self:
        """Ask the nodes."""
        scrapes = [Scrape(ask(port_of_metrics(node.properties), "/metrics").body) for node in nodes]

        def total(name: str) -> int:
            found = (scrape.value(name, **labels) or 0 for scrape in scrapes for labels in scrape.labels_of(name))
            return int(sum(found))

        return cls(
            authenticated=total(f"{_PREFIX}_successful_authentication_total"),
            failed=total(f"{_PREFIX}_failed_authentication_total") + total(f"{_PREFIX}_failed_reauthentication_total"),
            expired=total(f"{_PREFIX}_expired_connections_killed_total"),
            refused=total("kraft_authorization_refused_total"),
            dropped=total("kraft_connections_dropped_total"),
        )

    def since(self, earlier: Self) -> Self:
        """Return how much more these are than others."""
        names = [field.name for field in fields(self)]
        return type(self)(**{name: getattr(self, name) - getattr(earlier, name) for name in names})


NO_COUNTS = SecurityCounts()
