"""Ranges of versions, read and written."""

import pytest

from raft.codec import Versions


@pytest.mark.parametrize(
    ("text", "included", "excluded"),
    [
        pytest.param("0-2", [0, 1, 2], [-1, 3], id="range"),
        pytest.param("3", [3], [2, 4], id="one"),
        pytest.param("4+", [4, 5, 32767], [3, 32768], id="from"),
        pytest.param("none", [], [0, 1], id="none"),
    ],
)
def test_versions_hold_what_their_notation_says(text: str, included: list[int], excluded: list[int]) -> None:
    versions = Versions.parse(text)

    assert all(version in versions for version in included)
    assert not any(version in versions for version in excluded)
    assert str(versions) == text


def test_versions_count_from_lowest_to_highest() -> None:
    assert list(Versions(4, 7)) == [4, 5, 6, 7]


def test_versions_refuse_other_notations() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        Versions.parse("all")
