"""The quotas of one connection: what its requests use, what its responses say, and how long it is muted (KIP-219)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from raft.codec import Message
from raft.runtime.caller import Caller
from raft.runtime.client_quotas import ClientQuotas
from raft.runtime.pace import Pace
from raft.runtime.scheduler import Timer
from raft.runtime.turns import Turns
from raft.security.quotas import QuotaKind
from raft.wire.apis import FETCH, PRODUCE
from raft.wire.headers import RequestHeader

_RATES = {PRODUCE.key: QuotaKind.PRODUCER_BYTE_RATE, FETCH.key: QuotaKind.CONSUMER_BYTE_RATE}


class Throttle:
    """What limits one connection of a client.

    Args:
        quotas: of the node; None if there are none.
        caller: the client.
        turns: of the node.
        call_later: runs an action after some seconds.

    Attributes:
        has_quotas: whether any client of the node has a quota.
        is_muted: whether no request begins, and nothing is read.
    """

    def __init__(
        self,
        quotas: ClientQuotas | None,
        caller: Caller,
        turns: Turns,
        call_later: Callable[[float, Callable[[], None]], Timer],
    ) -> None:
        self.has_quotas = quotas is not None
        self.is_muted = False
        self._quotas = quotas
        self._caller = caller
        self._turns = turns
        self._call_later = call_later
        self._client_id = ""
        self._timer: Timer | None = None

    @property
    def pace(self) -> Pace | None:
        """The pace at which it may use the processor; None for no limit."""
        return None if self._quotas is None else self._pace(QuotaKind.REQUEST_PERCENTAGE)

    def begin(self, header: RequestHeader) -> None:
        """Note the client id of a request."""
        self._client_id = header.client_id or ""

    def end(self) -> None:
        """Forget the connection: it is closed."""
        if self._timer is not None:
            self._timer.cancel()

    def respond(
        self,
        header: RequestHeader,
        response: Message | None,
        resume: Callable[[], None],
        *,
        request_bytes: int,
        response_bytes: int,
    ) -> Message | None:
        """Count a request that has its response. If the client has used more than a quota, mute the connection.

        Args:
            header: of the request.
            response: to be sent; None for a request that expects none.
            resume: called when the connection is muted no longer.
            request_bytes: size of a Produce request.
            response_bytes: size of the response.

        Returns:
            The response that says for how long the client is throttled; None if it is not, or the response cannot say
            so.
        """
        quotas = self._quotas
        if quotas is None:
            return None
        kind, pace, throttle_s = QuotaKind.REQUEST_PERCENTAGE, self.pace, 0.0
        if pace is not None:
            throttle_s = quotas.throttle_s(pace, after=self._turns.turn_s)
        rate = _RATES.get(header.request_api_key)
        if rate is not None and (rate_pace := self._pace(rate)) is not None:
            quotas.use(rate_pace, request_bytes if rate is QuotaKind.PRODUCER_BYTE_RATE else response_bytes)
            rate_throttle_s = quotas.throttle_s(rate_pace)
            if rate_throttle_s >= throttle_s:
                kind, pace, throttle_s = rate, rate_pace, rate_throttle_s
        throttle_ms = int(throttle_s * 1000)
        if pace is None or not throttle_ms:
            return None
        quotas.count(kind, pace, throttle_s)
        self._mute(throttle_s, resume)
        if response is None or not hasattr(response, "throttle_time_ms"):
            return None
        return replace(response, throttle_time_ms=throttle_ms)  # type: ignore[call-arg]

    def _pace(self, kind: QuotaKind) -> Pace | None:
        return None if self._quotas is None else self._quotas.pace(kind, self._caller.user, self._client_id)

    def _mute(self, duration_s: float, resume: Callable[[], None]) -> None:
        self.end()
        self.is_muted = True
        self._timer = self._call_later(duration_s, lambda: self._unmute(resume))

    def _unmute(self, resume: Callable[[], None]) -> None:
        self.is_muted, self._timer = False, None
        resume()
