"""What the nodes answered since a leader last responded: when to warn about it, and when a call need not go on.

A client waits for a new leader for as long as a call may take, because elections and restarts end by themselves. From
the first seconds on it says that it waits. If it has never had a response of a leader, and no connection to a node can
be opened, or each node closes it at once, another cause is more likely: wrong addresses, a network between, or another
security protocol. Then a call may end sooner (`ClientSettings.connect_timeout_ms`). A suspended node does not count
here, as its system still accepts connections.

A leader that refuses a request for a reason that may pass, such as a full disk, is no outage: the warning and the error
say what it refuses and why.
"""

from __future__ import annotations

from collections.abc import Callable

from raft.client.failures import PENDING, SILENCES
from raft.client.settings import ClientSettings
from raft.errors import QuorumUnreachableError
from raft.types import Endpoint

FIRST_WARNING_MS = 4_000
"""An election takes about 2 s, so it causes no warning."""

NEXT_WARNING_MS = 10_000

Report = Callable[[str], None]


class Outage:
    """What the nodes answered during the present call, while it has no response from a leader.

    Args:
        settings: of the client.
        report: gets the warnings.

    Attributes:
        has_reached: whether a leader, or another node that serves fetches, has ever responded to this client.
    """

    def __init__(self, settings: ClientSettings, report: Report) -> None:
        self.has_reached = False
        self._settings = settings
        self._report = report
        self._answers: dict[Endpoint, str] = {}
        self._unconnected: set[Endpoint] = set()
        self._refusal: tuple[Endpoint, str] | None = None
        self._started_ms = 0
        self._timeout_ms = 0
        self._warn_at_ms: int | None = None

    def begin(self, started_ms: int, timeout_ms: int) -> None:
        """Begin a call, unless it was begun already.

        Args:
            started_ms: when the call began, on the driver's clock.
            timeout_ms: how long it may take.
        """
        if self._warn_at_ms is None or (self._started_ms, self._timeout_ms) != (started_ms, timeout_ms):
            self._started_ms, self._timeout_ms = started_ms, timeout_ms
            self._warn_at_ms = started_ms + FIRST_WARNING_MS
            self._answers.clear()
            self._unconnected.clear()
            self._refusal = None

    def add(
        self,
        endpoint: Endpoint,
        answer: str,
        *,
        is_connected: bool,
        timeout_ms: int | None = None,
        is_refusal: bool = False,
    ) -> None:
        """Note what a node answered, in place of what it answered before.

        The last request of a call ends with the call, perhaps milliseconds after it was sent. If it gets no response
        in so short a time, what the node answered before is kept, because it says more.

        Args:
            endpoint: the node.
            answer: in words; or why there is none.
            is_connected: whether a connection to it could be opened.
            timeout_ms: how long the node had to respond; None for long enough.
            is_refusal: whether it is the leader and refuses the request for now.
        """
        enough_ms = min(self._settings.patience_ms, self._settings.request_timeout_ms)
        had_no_time = answer in SILENCES and timeout_ms is not None and timeout_ms < enough_ms
        if had_no_time and self._answers.get(endpoint, PENDING) != PENDING:
            return
        self._answers[endpoint] = answer
        if is_refusal:
            self._refusal = endpoint, answer
        elif self._refusal is not None and self._refusal[0] == endpoint:
            self._refusal = None
        if is_connected:
            self._unconnected.discard(endpoint)
        else:
            self._unconnected.add(endpoint)

    def remove(self, endpoint: Endpoint) -> None:
        """Note that a node is not a cause of the outage: it knows a leader."""
        self._answers.pop(endpoint, None)
        self._unconnected.discard(endpoint)

    def check(self, now_ms: int) -> None:
        """Warn, if it is time for that.

        Args:
            now_ms: the driver's clock.

        Raises:
            QuorumUnreachableError: the call need not go on; see the module.
        """
        elapsed_ms = now_ms - self._started_ms
        left_ms = max(self._timeout_ms - elapsed_ms, 0)
        limit_ms = self._settings.connect_timeout_ms
        if limit_ms is not None and self._is_unreachable(elapsed_ms, left_ms, limit_ms):
            raise QuorumUnreachableError(
                f"no node of the quorum could be connected to in {_seconds(min(limit_ms, self._timeout_ms))}: {self}",
                hosts=[endpoint.host for endpoint in self._answers],
            )
        if self._warn_at_ms is not None and now_ms >= self._warn_at_ms:
            self._warn_at_ms = now_ms + NEXT_WARNING_MS
            limit = f"kraft.default.api.timeout.ms={self._timeout_ms}"
            if limit_ms is not None and limit_ms < self._timeout_ms and self._has_connected_to_none:
                left_ms = limit_ms - elapsed_ms
                limit = f"kraft.socket.connection.setup.timeout.ms={limit_ms}"
            what, why = "no leader of the quorum has responded", str(self)
            if self._refusal is not None:
                what, why = "the leader of the quorum has refused the request", "{}: {}".format(*self._refusal)
            self._report(
                f"{what} for {_seconds(elapsed_ms)}; waiting for at most {_seconds(left_ms)} more ({limit}): {why}"
            )

    def failure(self, words: str) -> str:
        """Return the message of a call that has no time left.

        Args:
            words: the message, unless the leader refused the request.
        """
        if self._refusal is None:
            return words
        leader, reason = self._refusal
        return f"the leader refused the request for {self._timeout_ms} ms: {leader}: {reason}"

    def end(self, now_ms: int) -> None:
        """Note that the leader has responded; report it if there was a warning.

        Args:
            now_ms: the driver's clock.
        """
        if self._warn_at_ms is not None and self._warn_at_ms > self._started_ms + FIRST_WARNING_MS:
            what = "a leader of the quorum has responded" if self._refusal is None else "the leader takes the request"
            self._report(f"{what} after {_seconds(now_ms - self._started_ms)}")
        self._warn_at_ms = None

    def __str__(self) -> str:
        return "; ".join(f"{endpoint}: {answer}" for endpoint, answer in self._answers.items())

    def _is_unreachable(self, elapsed_ms: int, left_ms: int, limit_ms: int) -> bool:
        if not self._has_connected_to_none:
            return False
        return elapsed_ms >= limit_ms or left_ms <= self._settings.retry_backoff_ms

    @property
    def _has_connected_to_none(self) -> bool:
        return not self.has_reached and len(self._unconnected) >= max(len(self._answers), 1)


def _seconds(duration_ms: int) -> str:
    return f"{duration_ms / 1000:.1f} s" if duration_ms < 10_000 else f"{duration_ms / 1000:.0f} s"
