"""Every message of the wire in every version."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from raft.codec import Message
from raft.records import control_messages
from raft.wire.apis import APIS
from raft.wire.headers import RequestHeader, ResponseHeader

PAYLOADS: tuple[type[Message], ...] = tuple(
    message_class for api in APIS.values() for message_class in (api.request, api.response)
)
HEADERS: tuple[type[Message], ...] = (RequestHeader, ResponseHeader)
CONTROL_MESSAGES: tuple[type[Message], ...] = (
    control_messages.LeaderChangeMessage,
    control_messages.KRaftVersionRecord,
    control_messages.VotersRecord,
    control_messages.SnapshotHeaderRecord,
    control_messages.SnapshotFooterRecord,
)


def _editions() -> Iterator[tuple[type[Message], int]]:
    for message_class in PAYLOADS + HEADERS + CONTROL_MESSAGES:
        for version in message_class.__schema__.versions:
            yield message_class, version


EDITIONS = tuple(_editions())
"""Class and version."""

every_edition = pytest.mark.parametrize(
    ("message_class", "version"),
    [
        pytest.param(message_class, version, id=f"{message_class.__name__}-v{version}")
        for message_class, version in EDITIONS
    ],
)
