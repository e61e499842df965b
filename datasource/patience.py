"""How long to wait for what is committed and does not come."""

from __future__ import annotations

import time

from raft.client import ClientSettings


class Patience:
    """Waits as long as a call may take: a leader that was elected just now may not know yet what is committed, and one
    that was cut off may not have it, until it resigns.

    Args:
        settings: of the client that is called.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self.timeout_s = settings.api_timeout_ms / 1000
        self._pause_s = settings.retry_backoff_ms / 1000
        self.restart()

    def restart(self) -> None:
        """Something came."""
        self._deadline_s = time.monotonic() + self.timeout_s

    @property
    def is_over(self) -> bool:
        """Whether nothing came for a whole call's time."""
        return time.monotonic() >= self._deadline_s

    def pause(self) -> None:
        """Sleep for as long as a client does before it tries again."""
        time.sleep(self._pause_s)
