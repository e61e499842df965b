"""What the HTTP server of a node serves: `/metrics`, `/healthz` and `/readyz`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any
from wsgiref.types import StartResponse

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from raft.metrics.loop_reader import LoopSilentError
from raft.metrics.readiness import Readiness

HEALTHY_S = 5.0
"""An event loop that has not turned for so long does not live."""

FRESH_S = 0.5
"""A scrape that is no older is served again, so that many scrapes cost no more than two in a second."""

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"

_Page = tuple[HTTPStatus, str, bytes]


class Application:
    """A WSGI application, which several threads may call.

    Args:
        registry: the metrics.
        loop_age_s: returns how long ago the event loop turned, in seconds.
        readiness: returns whether the node is ready; raises LoopSilentError.
        clock_s: returns the time of a monotonic clock, in seconds.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        loop_age_s: Callable[[], float],
        readiness: Callable[[], Readiness],
        clock_s: Callable[[], float],
    ) -> None:
        self._registry = registry
        self._loop_age_s = loop_age_s
        self._readiness = readiness
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._scraped = b""
        self._scraped_s: float | None = None

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Serve a request."""
        status, content_type, body = self._page(environ.get("REQUEST_METHOD", ""), environ.get("PATH_INFO", ""))
        headers = [("Content-Type", content_type), ("Content-Length", str(len(body)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [b"" if environ.get("REQUEST_METHOD") == "HEAD" else body]

    def _page(self, method: str, path: str) -> _Page:
        if method not in ("GET", "HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED, _TEXT, b"expected GET or HEAD\n"
        match path:
            case "/metrics":
                return HTTPStatus.OK, CONTENT_TYPE_PLAIN_0_0_4, self._scrape()
            case "/healthz":
                return self._health()
            case "/readyz":
                return self._ready()
            case _:
                return HTTPStatus.NOT_FOUND, _TEXT, b"expected /metrics, /healthz or /readyz\n"

    def _scrape(self) -> bytes:
        with self._lock:
            now_s = self._clock_s()
            if self._scraped_s is None or now_s - self._scraped_s > FRESH_S:
                self._scraped = generate_latest(self._registry)
                self._scraped_s = self._clock_s()
            return self._scraped

    def _health(self) -> _Page:
        age_s = self._loop_age_s()
        lives = age_s <= HEALTHY_S
        fields: dict[str, object] = {"lives": lives, "loopAgeMs": int(age_s * 1000)}
        if not lives:
            fields["reason"] = f"the event loop has not turned for {age_s:.1f} s"
        return _json(fields, is_good=lives)

    def _ready(self) -> _Page:
        try:
            found = self._readiness()
        except LoopSilentError as error:
            return _json({"ready": False, "reason": str(error)}, is_good=False)
        return _json(found.fields(), is_good=found.reason is None)


def _json(fields: Mapping[str, object], *, is_good: bool) -> _Page:
    status = HTTPStatus.OK if is_good else HTTPStatus.SERVICE_UNAVAILABLE
    return status, _JSON, json.dumps(fields).encode() + b"\n"
