"""The product, its documents, its programs and some of its tests keep to the words of STYLE.md."""

from __future__ import annotations

import pytest

from tests.architecture.wording import (
    FOLDERS,
    PACKAGES,
    PLAIN_ENGLISH,
    TERMS_OF_THE_FIELD,
    offences,
)

CASES = [pytest.param(folder, pattern, id=f"{folder}-{pattern}") for pattern in PLAIN_ENGLISH for folder in FOLDERS]


@pytest.mark.parametrize("pattern", [pytest.param(pattern, id=pattern) for pattern in TERMS_OF_THE_FIELD])
def test_product_says_the_house_word_everywhere(pattern: str) -> None:
    instead = TERMS_OF_THE_FIELD[pattern]

    assert not [str(offence) for package in PACKAGES for offence in offences(package, pattern, instead)]


@pytest.mark.parametrize(("folder", "pattern"), CASES)
def test_folder_is_written_in_plain_english(folder: str, pattern: str) -> None:
    assert not [str(offence) for offence in offences(folder, pattern, PLAIN_ENGLISH[pattern])]
