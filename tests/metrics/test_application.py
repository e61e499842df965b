"""The pages of a node's HTTP server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter

from raft.metrics.application import FRESH_S, HEALTHY_S, Application
from raft.metrics.loop_reader import LoopSilentError
from raft.metrics.plain import Histograms
from raft.metrics.readiness import Readiness

READY = Readiness(node_id=1, state="leader", epoch=3, leader_id=1)


class Pages:
    """An application, and what the test decides."""

    def __init__(self, readiness: Callable[[], Readiness] = lambda: READY) -> None:
        self.registry = CollectorRegistry()
        self.counter = Counter("kraft_things", "Things.", registry=self.registry)
        self.age_s = 0.0
        self.now_s = 0.0
        self._application = Application(
            self.registry, loop_age_s=lambda: self.age_s, readiness=readiness, clock_s=lambda: self.now_s
        )

    def get(self, path: str, method: str = "GET") -> tuple[str, dict[str, str], str]:
        started: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], *_: object) -> Callable[[bytes], object]:
            started.extend((status, dict(headers)))
            return lambda _: None

        body = b"".join(self._application({"REQUEST_METHOD": method, "PATH_INFO": path}, start_response))
        return started[0], started[1], body.decode()


def test_metrics_are_in_the_text_format() -> None:
    pages = Pages()
    sizes = Histograms("kraft_sizes", "Sizes.", (1,))
    sizes.of().observe(2)
    pages.registry.register(sizes)
    pages.counter.inc()

    status, headers, body = pages.get("/metrics")

    assert status == "200 OK"
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert int(headers["Content-Length"]) == len(body)
    assert "kraft_things_total 1.0\n" in body
    assert 'kraft_sizes_bucket{le="+Inf"} 1.0\n' in body


def test_scrape_is_repeated_while_it_is_fresh() -> None:
    pages = Pages()
    pages.get("/metrics")
    pages.counter.inc()

    pages.now_s = FRESH_S
    assert "kraft_things_total 0.0\n" in pages.get("/metrics")[2]
    pages.now_s = FRESH_S + 0.01
    assert "kraft_things_total 1.0\n" in pages.get("/metrics")[2]


def test_node_is_healthy_while_its_loop_turns() -> None:
    pages = Pages()

    pages.age_s = HEALTHY_S
    assert pages.get("/healthz")[0] == "200 OK"
    pages.age_s = HEALTHY_S + 0.1
    status, headers, body = pages.get("/healthz")

    assert (status, headers["Content-Type"]) == ("503 Service Unavailable", "application/json")
    assert body == '{"lives": false, "loopAgeMs": 5100, "reason": "the event loop has not turned for 5.1 s"}\n'


def test_node_that_is_ready_says_its_role() -> None:
    status, headers, body = Pages().get("/readyz")

    assert (status, headers["Content-Type"]) == ("200 OK", "application/json")
    assert body == '{"ready": true, "node": 1, "state": "leader", "epoch": 3, "leader": 1}\n'


def silent() -> Readiness:
    raise LoopSilentError("the event loop did not respond within 2 s")


@pytest.mark.parametrize(
    ("readiness", "body"),
    [
        pytest.param(
            lambda: Readiness(node_id=1, state="unattached", epoch=3, leader_id=None, reason="it knows no leader"),
            '{"ready": false, "reason": "it knows no leader", "node": 1, "state": "unattached", "epoch": 3}\n',
            id="no leader",
        ),
        pytest.param(
            silent, '{"ready": false, "reason": "the event loop did not respond within 2 s"}\n', id="a silent loop"
        ),
    ],
)
def test_node_that_is_not_ready_says_why(readiness: Callable[[], Readiness], body: str) -> None:
    assert Pages(readiness).get("/readyz")[::2] == ("503 Service Unavailable", body)


def test_head_has_no_body() -> None:
    status, headers, body = Pages().get("/readyz", "HEAD")

    assert (status, body) == ("200 OK", "")
    assert int(headers["Content-Length"]) > 0


@pytest.mark.parametrize(
    ("path", "method", "status", "body"),
    [
        ("/", "GET", "404 Not Found", "expected /metrics, /healthz or /readyz\n"),
        ("/metrics/", "GET", "404 Not Found", "expected /metrics, /healthz or /readyz\n"),
        ("/metrics", "POST", "405 Method Not Allowed", "expected GET or HEAD\n"),
    ],
)
def test_other_requests_are_refused_with_what_is_expected(path: str, method: str, status: str, body: str) -> None:
    assert Pages().get(path, method)[::2] == (status, body)
