"""Tables of cases, one line each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from tests.core.builder import a_candidate, a_follower, a_leader, a_prospective, a_resigned, an_unattached

UNATTACHED = partial(an_unattached, epoch=5)
PROSPECTIVE = partial(a_prospective, epoch=5)
CANDIDATE = partial(a_candidate, epoch=5)
LEADER = partial(a_leader, epoch=5)
RESIGNED = partial(a_resigned, epoch=5)
FOLLOWER_OF_2 = partial(a_follower, of=2, epoch=5)
FOLLOWER_OF_3 = partial(a_follower, of=3, epoch=5)


def table(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Parameters of a test: each row begins with the name of its case, and ends with the rules that it proves."""
    return [
        pytest.param(*values, id=name, marks=[pytest.mark.rule(*rules.split())] if rules else [])
        for name, *values, rules in rows
    ]
