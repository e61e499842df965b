"""The thread on which Produce requests are checked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


class AdmissionThread:
    """Runs functions one after the other on its own thread; see `Worker`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="admission")
        self._is_closed = False

    def run(self, work: Callable[[], Result], done: Callable[[Callable[[], Result], float], None]) -> None:
        """See `Worker.run`."""
        used_s = 0.0

        def measured() -> Result:
            nonlocal used_s
            begin_s = time.thread_time()
            try:
                return work()
            finally:
                used_s = time.thread_time() - begin_s

        def on_end(ended: asyncio.Future[Result]) -> None:
            if not self._is_closed:
                done(ended.result, used_s)

        self._loop.run_in_executor(self._thread, measured).add_done_callback(on_end)

    def close(self) -> None:
        """See `Worker.close`."""
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
