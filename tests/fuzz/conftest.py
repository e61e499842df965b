"""Decodes all samples once before memory is measured."""

from __future__ import annotations

import pytest

from tests.fuzz.decoders import DECODERS
from tests.fuzz.trial import warm_up


@pytest.fixture(scope="session", autouse=True)
def _warm_decoders() -> None:
    warm_up(DECODERS)
