"""Readers: one reads the whole log in one session, and one opens a new session for each read."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

from raft.client import AsyncClient, Client, ClientSettings, Fetched, calls
from raft.client.aborted import AbortedFilter
from raft.types import Offset
from raft.wire.messages.list_offsets import LATEST_TIMESTAMP
from tests.harness.clients.log_reader import LogReader
from tests.harness.clients.unavailable import UNAVAILABLE
from tests.node.harness.batches import batches_in, records_of
from tests.workload.history import History, Read, now_ns
from tests.workload.worker import Worker

_FETCH_BYTES = 1 << 18
_WAIT_MS = 200
_LOOKS = 10
"""As many fetches come between two requests for the end of the log."""

_BACKWARDS = 300
_REST_S = 0.05


class SessionReader(LogReader):
    """Reads the whole log in one session, from the nodes that the settings name, and requests its end now and then.

    Args:
        name: see `LogReader`.
        history: see `LogReader`.
        settings: of its client.
    """

    def __init__(self, name: str, history: History, settings: ClientSettings) -> None:
        super().__init__(name, history)
        self._settings = settings

    def _run(self) -> None:
        asyncio.run(self._read())

    async def _read(self) -> None:
        fetch_count = 0
        async with AsyncClient(self._settings) as client:
            while not self._is_done:
                try:
                    await self._fetch(client)
                    fetch_count += 1
                    if fetch_count % _LOOKS == 0:
                        await self._look(client)
                except UNAVAILABLE:
                    continue

    async def _fetch(self, client: AsyncClient) -> None:
        invoked_ns = now_ns()
        fetched = await client.call(calls.fetch_committed, self._position, max_bytes=_FETCH_BYTES, max_wait_ms=_WAIT_MS)
        read = read_of(fetched, self._position, session=self.name, invoked_ns=invoked_ns)
        self._history.read(read)
        self._position = read.end_offset

    async def _look(self, client: AsyncClient) -> None:
        invoked_ns = now_ns()
        found = await client.call(calls.find_offset, LATEST_TIMESTAMP)
        assert found is not None, "a log has an end"
        self._history.read(look_of(found.offset, session=self.name, invoked_ns=invoked_ns))


class FreshReader(Worker):
    """Opens a session, requests the end of the log, reads some records before it, and opens another session.

    Args:
        name: see `Worker`; the names of its sessions begin with it.
        history: see `Worker`.
        settings: of its clients; each tries the bootstrap servers in another order.
        dice: decides this order, and where to read.
    """

    def __init__(self, name: str, history: History, settings: ClientSettings, dice: Random) -> None:
        super().__init__(name, history)
        self._settings = settings
        self._dice = dice

    def _run(self) -> None:
        session_count = 0
        while not self._is_stopping.wait(self._dice.uniform(0, _REST_S)):
            session_count += 1
            try:
                self._read_once(f"{self.name}-{session_count}")
            except UNAVAILABLE:
                continue

    def _read_once(self, session: str) -> None:
        servers = self._settings.bootstrap_servers
        shuffled = tuple(self._dice.sample(servers, len(servers)))
        with Client(replace(self._settings, bootstrap_servers=shuffled)) as client:
            invoked_ns = now_ns()
            end_offset = client.last_stable_offset()
            self._history.read(look_of(end_offset, session=session, invoked_ns=invoked_ns))
            start_offset = Offset(max(0, end_offset - self._dice.randrange(_BACKWARDS)))
            invoked_ns = now_ns()
            fetched = client.fetch(start_offset, max_bytes=_FETCH_BYTES, max_wait_ms=_WAIT_MS)
            self._history.read(read_of(fetched, start_offset, session=session, invoked_ns=invoked_ns))


def read_of(fetched: Fetched, start_offset: Offset, *, session: str, invoked_ns: int) -> Read:
    """Return the read of a fetch whose response has just been received, without the records of aborted transactions."""
    batches = batches_in(fetched.records)
    aborted = AbortedFilter(fetched.aborted)
    kept = [batch for batch in batches if not aborted.drops(batch.header)]
    is_of_reader = fetched.reader is not None
    return Read(
        session=session,
        invoked_ns=invoked_ns,
        answered_ns=now_ns(),
        start_offset=start_offset,
        end_offset=batches[-1].header.end_offset if batches else start_offset,
        # A batch may begin before the offset that was requested.
        records=tuple(
            (record.offset, record.value or b"") for record in records_of(kept) if record.offset >= start_offset
        ),
        # A reader may lag behind what the session has seen of others.
        high_watermark=None if is_of_reader else fetched.last_stable_offset,
        is_of_reader=is_of_reader,
    )


def look_of(end_offset: Offset, *, session: str, invoked_ns: int) -> Read:
    """Return a read without records: the last stable offset, as a leader that is confirmed has just sent it."""
    return Read(
        session=session,
        invoked_ns=invoked_ns,
        answered_ns=now_ns(),
        start_offset=Offset(0),
        end_offset=Offset(0),
        high_watermark=end_offset,
        is_latest=True,
    )
