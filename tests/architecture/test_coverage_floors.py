"""The floors of `make coverage` belong to parts that exist."""

from __future__ import annotations

import pytest

from scripts.coverage_floors import ROOT, Part, configured_floors

FLOORS = configured_floors()


@pytest.mark.parametrize("path", [pytest.param(path, id=path) for path in FLOORS])
def test_floor_belongs_to_a_part_of_the_product(path: str) -> None:
    assert (ROOT / path).exists()
    assert 0 < FLOORS[path] <= 100


@pytest.mark.parametrize(
    ("percentage", "is_below"),
    [
        pytest.param(99.99, True, id="one line is missing"),
        pytest.param(100.0, False, id="all is reached"),
    ],
)
def test_part_is_below_its_floor_when_less_is_reached(percentage: float, is_below: bool) -> None:
    part = Part(path="raft/codec", floor=100, percentage=percentage, missing="")

    assert part.is_below_floor is is_below
