"""What a connection has received, and the requests in it, one by one.

Nothing is decrypted or split before it is wanted: 256 KiB, which one read of a socket may return, can be 12,000
requests, and a node handles only a few of them in one turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from raft.wire.frames import FrameReader

_STEP_BYTES = 1 << 14
"""How many encrypted bytes are decrypted at once: a record of TLS has about as many."""


class ReceivedFrames:
    """The received bytes of one connection.

    Args:
        max_frame_bytes: the largest frame that is accepted, in bytes.
        decrypt: returns the plain bytes of encrypted ones; None for a connection without TLS. It may raise errors.

    Attributes:
        partial: the frame that is partly received.
        is_empty: whether there are no bytes that `take` has not looked at.
    """

    def __init__(self, max_frame_bytes: int, decrypt: Callable[[bytes], bytes] | None) -> None:
        self.partial = FrameReader(max_frame_bytes)
        self._decrypt = decrypt
        self._received: deque[bytes] = deque()
        self._frames: Iterator[bytes] | None = None
        self.is_empty = True

    @property
    def waiting_bytes(self) -> int:
        """How many received bytes are kept as they were received."""
        return sum(map(len, self._received))

    def add(self, data: bytes) -> None:
        """Keep bytes that were received."""
        self._received.append(data)
        self.is_empty = False

    def clear(self) -> None:
        """Drop what was received."""
        self._received.clear()
        self._frames = None
        self.is_empty = True

    def take(self) -> bytes | None:
        """Look at some of the bytes, and return the first frame in them; None if no frame is complete in them.

        Raises:
            AuthenticationError, DecodeError: from `decrypt`.
            DecodeError: see `FrameReader.receive`.
        """
        if self._frames is None:
            if not self._received:
                return None
            data = self._next_plain_bytes()
            frame = self.partial.receive_one_frame(data)
            if frame is not None:
                self.is_empty = not self._received
                return frame
            self._frames = self.partial.receive(data)
        frame = next(self._frames, None)
        if frame is None:
            self._frames = None
            self.is_empty = not self._received
        return frame

    def _next_plain_bytes(self) -> bytes:
        data = self._received.popleft()
        if self._decrypt is None:
            return data
        if len(data) > _STEP_BYTES:
            self._received.appendleft(data[_STEP_BYTES:])
            data = data[:_STEP_BYTES]
        return self._decrypt(data)
