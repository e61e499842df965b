"""Bugs of the encoding of messages."""

from __future__ import annotations

import pytest

from raft.types import ZERO_UUID
from raft.wire.mapping import elections
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("GEN-14", "TEST-16"), caught_by=("RequestsSurviveEncoding",))
def directory_id_not_encoded(patch: pytest.MonkeyPatch) -> None:
    """A candidate's Vote request carries its node id without its directory id."""
    patch.setattr(elections, "directory_uuid", lambda _key: ZERO_UUID)
