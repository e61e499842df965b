"""The pieces of responses in records of TLS: small ones share a record, and large ones are not copied."""

from __future__ import annotations

import pytest

from raft.config.listener_security import ClientAuth
from raft.security.tls_contexts import TlsContexts
from tests.security.certificates import Files
from tests.security.handshakes import Pair

_HEADER_BYTES = 5
LARGE = b"x" * (1 << 14)
"""As much as a record has."""


@pytest.mark.parametrize(
    ("pieces", "records"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([b"a"], 1, id="one"),
        pytest.param([b"a", b"", b"bc", b"d"] * 5, 1, id="small ones"),
        pytest.param([LARGE], 1, id="a large one"),
        pytest.param([b"a", b"b", LARGE, b"c", b"d"], 3, id="a large one between small ones"),
        pytest.param([LARGE, LARGE], 2, id="large ones"),
    ],
)
def test_small_pieces_share_a_record(files: Files, pieces: list[bytes], records: int) -> None:
    both = Pair.of(
        TlsContexts(files.settings(None), None).present, TlsContexts(files.settings("node"), ClientAuth.NONE).present
    )
    both.exchange()

    both.node.send_pieces(pieces)
    sent = both.node.data_to_send()

    assert records_in(sent) == records
    assert both.client.receive(sent) == b"".join(pieces)


def records_in(data: bytes) -> int:
    """Count the records; the header of each one ends with its size."""
    count = 0
    while data:
        data = data[_HEADER_BYTES + int.from_bytes(data[_HEADER_BYTES - 2 : _HEADER_BYTES], "big") :]
        count += 1
    return count
