"""The document of the metadata records is made from their declarations, is up to date, and explains every field."""

from __future__ import annotations

import pytest

from raft.codec import INT8, Message, field, message
from scripts import metadata_records_table
from scripts.metadata_records_table import meanings_of_fields


def test_document_is_up_to_date() -> None:
    assert metadata_records_table.main(["--check"]) == 0


def test_field_without_a_meaning_is_an_error() -> None:
    @message(versions="0", flexible="0+")
    class Unexplained(Message):
        """Something.

        Fields:
            explained: a number,
                in two lines.
        """

        explained: int = field(INT8)
        unexplained: int = field(INT8)

    with pytest.raises(ValueError, match=r"Unexplained: its docstring explains \['explained'\], its fields are"):
        meanings_of_fields(Unexplained)


def test_meaning_in_two_lines_is_whole() -> None:
    @message(versions="0", flexible="0+")
    class Explained(Message):
        """Something.

        Fields:
            explained: a number,
                in two lines.
        """

        explained: int = field(INT8)

    assert meanings_of_fields(Explained) == {"explained": "a number, in two lines."}
