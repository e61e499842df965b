"""Java properties: what a line means."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.config import parse_overrides, read_properties
from raft.errors import ConfigError
from raft.properties import format_properties, parse_properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("\n  \n\t\n", {}, id="blank lines"),
        pytest.param("key=value", {"key": "value"}, id="equals sign"),
        pytest.param("key:value", {"key": "value"}, id="colon"),
        pytest.param("key value", {"key": "value"}, id="blank"),
        pytest.param("  key  =  value", {"key": "value"}, id="blanks around"),
        pytest.param("key\t:\tvalue", {"key": "value"}, id="tabs around"),
        pytest.param("key", {"key": ""}, id="key alone"),
        pytest.param("key=", {"key": ""}, id="empty value"),
        pytest.param("  a = b c ", {"a": "b c "}, id="blanks behind a value belong to it"),
        pytest.param("key = = value", {"key": "= value"}, id="only the first sign parts"),
        pytest.param("a.b-c_d=1@h:9,2@h:8", {"a.b-c_d": "1@h:9,2@h:8"}, id="signs inside a value"),
        pytest.param("key=one two", {"key": "one two"}, id="blank inside a value"),
        pytest.param("key=old\nkey=new", {"key": "new"}, id="the last one counts"),
        pytest.param("a=1\r\nb=2\r\n", {"a": "1", "b": "2"}, id="lines of Windows"),
        pytest.param("a=1\rb=2", {"a": "1", "b": "2"}, id="lines of old Macs"),
        pytest.param("a\fb", {"a": "b"}, id="form feed is a blank"),
        pytest.param("a=x\x0cy", {"a": "x\x0cy"}, id="form feed ends no line"),
        pytest.param("a=x\x85y", {"a": "x\x85y"}, id="nor does a next line"),
        pytest.param("a=x\u2028y", {"a": "x\u2028y"}, id="nor a line separator"),
        pytest.param("\u00a0a=x", {"\u00a0a": "x"}, id="no-break space is no blank"),
    ],
)
def test_line_is_read_as_java_reads_it(text: str, properties: dict[str, str]) -> None:
    assert parse_properties(text) == properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        pytest.param("# key=value", {}, id="hash"),
        pytest.param("! key=value", {}, id="exclamation mark"),
        pytest.param("   # key=value", {}, id="behind blanks"),
        pytest.param("key=value # no comment", {"key": "value # no comment"}, id="none behind a value"),
        pytest.param("# not continued \\\nkey=value", {"key": "value"}, id="ends with its line"),
    ],
)
def test_comment_is_a_line_by_itself(text: str, properties: dict[str, str]) -> None:
    assert parse_properties(text) == properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        pytest.param("voters=1@a:1,\\\n       2@b:2", {"voters": "1@a:1,2@b:2"}, id="value"),
        pytest.param("vot\\\n  ers=x", {"voters": "x"}, id="key"),
        pytest.param("a=1\\\n\\\n  2\nb=3", {"a": "12", "b": "3"}, id="over a line that is only a backslash"),
        pytest.param("a=1\\\n# 2", {"a": "1# 2"}, id="a hash goes on"),
        pytest.param("a=1\\", {"a": "1"}, id="nothing follows"),
        pytest.param("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}, id="an escaped backslash does not continue"),
        pytest.param("a=1\\\\\\\n2", {"a": "1\\2"}, id="an escaped one and one that continues"),
    ],
)
def test_backslash_at_the_end_continues_the_line(text: str, properties: dict[str, str]) -> None:
    assert parse_properties(text) == properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        pytest.param(r"a\=b=c", {"a=b": "c"}, id="equals sign in a key"),
        pytest.param("a\\=b=c\\\\d", {"a=b": "c\\d"}, id="equals sign and backslash"),
        pytest.param(r"a\:b\ c=d", {"a:b c": "d"}, id="colon and blank in a key"),
        pytest.param(r"path=C:\\logs", {"path": "C:\\logs"}, id="backslash"),
        pytest.param(r"a=x\ty\nz", {"a": "x\ty\nz"}, id="tab and line feed"),
        pytest.param(r"a=x\ry\fz", {"a": "x\ry\fz"}, id="carriage return and form feed"),
        pytest.param(r"a=\u0041\u00e4", {"a": "A\xe4"}, id="code points"),
        pytest.param(r"a=\q\"", {"a": 'q"'}, id="any other is itself"),
        pytest.param(r"a=\ x\ ", {"a": " x "}, id="blank"),
    ],
)
def test_escape_stands_for_a_character(text: str, properties: dict[str, str]) -> None:
    assert parse_properties(text) == properties


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        pytest.param({"b": "2", "a": "1"}, "a=1\nb=2\n", id="in the order of their keys"),
        pytest.param({"a key": "a value"}, "a\\ key=a value\n", id="blanks"),
        pytest.param({"a": "  b "}, "a=\\  b \n", id="blanks before a value"),
        pytest.param({"b#": "!1=2:3"}, "b\\#=\\!1\\=2\\:3\n", id="signs"),
        pytest.param({"a": "x\ny\tz\\"}, "a=x\\ny\\tz\\\\\n", id="line feed, tab and backslash"),
        pytest.param({"a": "\xe4\u2028"}, "a=\xe4\u2028\n", id="other characters are themselves"),
    ],
)
def test_properties_are_written_as_java_writes_them(properties: dict[str, str], text: str) -> None:
    assert format_properties(properties) == text


@given(st.dictionaries(st.text(), st.text()))
def test_properties_are_unchanged_when_written_and_read(properties: dict[str, str]) -> None:
    assert parse_properties(format_properties(properties)) == properties


def test_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "node.properties"
    path.write_text("# B\xe4r\nnode.id=1\n", encoding="utf-8")

    assert read_properties(path) == {"node.id": "1"}


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*/absent\.properties: .*No such file"):
        read_properties(tmp_path / "absent.properties")


def test_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "node.properties"
    path.write_bytes(b"\xef\xbb\xbfnode.id=1\n")

    assert read_properties(path) == {"node.id": "1"}


def test_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "node.properties"
    path.write_bytes(b"node.id=\xff\xfe")

    with pytest.raises(
        ConfigError, match=r"cannot read .*: expected a properties file in UTF-8, got byte 0xff at byte 8"
    ):
        read_properties(path)


def test_overrides_are_pairs() -> None:
    overrides = parse_overrides(["node.id=7", " log.dirs = /tmp/a b ", "a=b=c", "empty="])

    assert overrides == {"node.id": "7", "log.dirs": "/tmp/a b", "a": "b=c", "empty": ""}


@pytest.mark.parametrize("override", ["node.id", "=7", " =7", ""])
def test_override_that_is_no_pair_is_refused(override: str) -> None:
    with pytest.raises(ConfigError, match=f"^--override {override}: expected key=value$"):
        parse_overrides([override])
