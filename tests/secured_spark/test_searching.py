"""The search for secrets finds them in every spelling, and finds nothing where there is nothing."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.secured_spark.searching import Search

SECRET = 'kraft-9&x<"Q/w+'
SEARCH = Search({"password": SECRET, "token": "t0ken-of-no-place"})

_SPELLINGS: dict[str, Callable[[str], bytes]] = {
    "plain": lambda text: f"user=x password={text};".encode(),
    "message of PLAIN": lambda text: base64.b64encode(f"\0user\0{text}".encode()),
    "base64 at another position": lambda text: base64.b64encode(f"\0users\0{text}!".encode()),
    "base64 at a third position": lambda text: base64.b64encode(f"\0user1s\0{text}!!".encode()),
    "base64 of URLs": lambda text: base64.urlsafe_b64encode(text.encode()),
    "HTML": lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").encode(),
    "URL": lambda text: quote(text, safe="").encode(),
    "hexadecimal": lambda text: text.encode().hex().encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "bytes of a pickle": lambda text: repr(text.encode()).encode(),
}


@pytest.mark.parametrize("spell", _SPELLINGS.values(), ids=_SPELLINGS)
def test_secret_is_found_in_each_spelling(spell: Callable[[str], bytes]) -> None:
    assert SEARCH.in_bytes(b"before " + spell(SECRET) + b" after") == {"password"}


def test_secret_is_found_in_json() -> None:
    plain = Search({"password": "kraft-9xQw"})

    assert plain.in_bytes(json.dumps({"value": "kraft-9xQw"}).encode()) == {"password"}


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert SEARCH.in_bytes(b"user=x password=" + SECRET[:-1].encode()) == set()


def test_files_are_searched_by_content_and_name(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "log").write_bytes(b"\0\1" + SECRET.encode())
    (tmp_path / "packed.gz").write_bytes(gzip.compress(SECRET.encode()))
    (tmp_path / "t0ken-of-no-place.txt").write_text("empty")
    (tmp_path / "copy").write_text(f"password={SECRET}\n")

    found = SEARCH.in_folder(tmp_path, kept=[f"password={SECRET}\n".encode()])

    assert found == {("password", "deep/log"), ("password", "packed.gz"), ("token", "t0ken-of-no-place.txt")}
