"""The requests that one connection has received and not begun: the next one, and the bytes after it."""

from __future__ import annotations

from raft.node.entrance import Entrance
from raft.node.large_frames import FrameSource, LargeFrames
from raft.node.read_buffer import SMALL_BYTES
from raft.node.received_frames import ReceivedFrames
from raft.node.request_frames import MAX_REQUEST_BYTES, check_size, is_append


class IncomingRequests:
    """Finds the requests in what a connection has received, and checks their sizes.

    Args:
        entrance: of the connection.
        large_frames: counts what is received of large frames.
        max_frame_bytes: the largest request that is accepted, in bytes.

    Attributes:
        next: the frame of the next request; None while none is found.
    """

    def __init__(self, entrance: Entrance, large_frames: LargeFrames, max_frame_bytes: int) -> None:
        self.next: bytes | None = None
        self._entrance = entrance
        self._large_frames = large_frames
        self._frames = ReceivedFrames(max_frame_bytes, entrance.decryption)

    def __bool__(self) -> bool:
        """Return whether there is a request, or bytes that were not looked at."""
        return self.next is not None or not self._frames.is_empty

    @property
    def waiting_bytes(self) -> int:
        """How many received bytes are kept as they were received."""
        return self._frames.waiting_bytes

    @property
    def has_partial_frame(self) -> bool:
        """Whether a part of a frame was found whose rest is missing."""
        return self._frames.partial.has_partial_frame

    @property
    def missing_bytes(self) -> int:
        """How many bytes are missing of the frame that was partly received, when it was last looked at."""
        partial = self._frames.partial
        return partial.announced_bytes - partial.received_bytes

    @property
    def next_takes_budget(self) -> bool:
        """Whether the next request counts against the budget of appends, of which unknown clients take nothing."""
        return self.next is not None and is_append(self.next) and self._entrance.caller.is_authenticated

    def add(self, data: bytes, source: FrameSource) -> None:
        """Keep bytes that were received. A large piece of a frame counts at once: it may wait long for its turn.

        Args:
            data: the bytes.
            source: the connection.
        """
        self._frames.add(data)
        if len(data) > SMALL_BYTES and self.missing_bytes:
            self._large_frames.received(source, self._frames.partial.received_bytes + len(data), is_complete=False)

    def clear(self) -> None:
        """Drop what was received."""
        self._frames.clear()
        self.next = None

    def look(self, source: FrameSource) -> bool:
        """Look for the next request in some of the bytes; return whether one is complete in them.

        Args:
            source: the connection.

        Raises:
            AuthenticationError, DecodeError: see `ReceivedFrames.take`.
            DecodeError: the request is too large for what it is.
        """
        self.next = frame = self._frames.take()
        if frame is None:
            return False
        if len(frame) > MAX_REQUEST_BYTES:
            check_size(frame, len(frame), is_authenticated=self._entrance.caller.is_authenticated)
        if len(frame) > SMALL_BYTES:
            self._large_frames.received(source, len(frame), is_complete=True)
        return True

    def take(self, source: FrameSource) -> bytes:
        """Return the next request of a connection, which there is, and forget it."""
        frame, self.next = self.next, None
        assert frame is not None, "there is one"
        if len(frame) > SMALL_BYTES:
            self._large_frames.forget(source)
        return frame

    def check_the_rest(self, source: FrameSource) -> None:
        """Check the frame of a connection that is partly received, when all bytes were looked at.

        Raises:
            DecodeError: it announces too many bytes for what it is.
        """
        partial = self._frames.partial
        if partial.received_bytes > SMALL_BYTES:
            self._large_frames.received(source, partial.received_bytes, is_complete=False)
        if partial.announced_bytes > MAX_REQUEST_BYTES:
            check_size(partial.begin, partial.announced_bytes, is_authenticated=self._entrance.caller.is_authenticated)
