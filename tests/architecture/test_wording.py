"""The product, its documents, its programs and some of its tests keep to the words of STYLE.md."""

from __future__ import annotations

import pytest

from tests.architecture.wording import (
    FOLDERS,
    NOT_YET_CLEAN,
    PACKAGES,
    PLAIN_ENGLISH,
    TERMS_OF_THE_FIELD,
    offences,
)

CLEAN = [
    pytest.param(folder, pattern, id=f"{folder}-{pattern}")
    for pattern in PLAIN_ENGLISH
    for folder in FOLDERS
    if folder not in NOT_YET_CLEAN.get(pattern, ())
]


@pytest.mark.parametrize("pattern", [pytest.param(pattern, id=pattern) for pattern in TERMS_OF_THE_FIELD])
def test_product_says_the_house_word_everywhere(pattern: str) -> None:
    instead = TERMS_OF_THE_FIELD[pattern]

    assert not [str(offence) for package in PACKAGES for offence in offences(package, pattern, instead)]


@pytest.mark.parametrize(("folder", "pattern"), CLEAN)
def test_folder_is_written_in_plain_english(folder: str, pattern: str) -> None:
    assert not [str(offence) for offence in offences(folder, pattern, PLAIN_ENGLISH[pattern])]


def test_exceptions_are_for_words_and_folders_that_exist() -> None:
    assert set(NOT_YET_CLEAN) <= set(PLAIN_ENGLISH)
    assert {folder for folders in NOT_YET_CLEAN.values() for folder in folders} <= set(FOLDERS)
