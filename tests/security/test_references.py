"""References to secrets in settings, as Kafka's config providers have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.errors import ConfigError
from raft.security.references import resolve

PLANTED = "planted-secret"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with secrets."""
    (tmp_path / "secrets.properties").write_text(f"password={PLANTED}\nwith.é=ü\nempty=\n", encoding="utf-8")
    (tmp_path / "password").write_text(f"{PLANTED}\r\n")
    (tmp_path / "two lines").write_text("a\nb\n\n")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("no reference $ {env:X} $env:X}", "no reference $ {env:X} $env:X}", id="none"),
        pytest.param("${env}", "${env}", id="no colon"),
        pytest.param("${env:KRAFT_SECRET}", PLANTED, id="variable"),
        pytest.param("${file:FOLDER/secrets.properties:password}", PLANTED, id="key"),
        pytest.param("${file:FOLDER/secrets.properties:with.é}", "ü", id="key that is not ASCII"),
        pytest.param("${file:FOLDER/secrets.properties:empty}", "", id="empty value"),
        pytest.param("${directory:FOLDER:password}", PLANTED, id="file"),
        pytest.param("${directory:FOLDER:two lines}", "a\nb", id="file of two lines"),
        pytest.param(
            'a="${env:KRAFT_SECRET}" b="${directory:FOLDER:password}";',
            f'a="{PLANTED}" b="{PLANTED}";',
            id="two of them",
        ),
        pytest.param("${env:KRAFT_REFERENCE}", "${env:KRAFT_SECRET}", id="a value is not resolved again"),
    ],
)
def test_references_are_replaced_by_their_values(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    monkeypatch.setenv("KRAFT_SECRET", PLANTED)
    monkeypatch.setenv("KRAFT_REFERENCE", "${env:KRAFT_SECRET}")

    assert resolve(text.replace("FOLDER", str(folder))) == expected


def test_files_are_where_they_are_located(folder: Path) -> None:
    asked: list[str] = []

    def locate(location: str) -> Path:
        asked.append(location)
        return folder / location

    resolved = resolve("${file:secrets.properties:password} ${directory:.:password}", locate)

    assert resolved == f"{PLANTED} {PLANTED}"
    assert asked == ["secrets.properties", "."]


@pytest.mark.parametrize("reference", ["${file:there:a}", "${directory:there:a}"])
def test_file_that_is_not_located_is_refused(reference: str) -> None:
    def locate(location: str) -> Path:
        raise OSError(2, f"no file {location} was sent")

    with pytest.raises(ConfigError) as refused:
        resolve(reference, locate)

    assert str(refused.value) == f"{reference}: no file there was sent"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("${env:KRAFT_MISSING}", "the environment has no variable KRAFT_MISSING", id="no variable"),
        pytest.param("${env:}", "the environment has no variable ", id="no name of a variable"),
        pytest.param("${vault:a:b}", "expected ${env:NAME}, ${file:PATH:KEY} or ${directory:PATH:NAME}", id="provider"),
        pytest.param("${:a:b}", "expected ${env:NAME}, ", id="no provider"),
        pytest.param("${file:FOLDER/secrets.properties}", "expected ${env:NAME}, ", id="no key"),
        pytest.param("${file:FOLDER/secrets.properties:}", "expected ${env:NAME}, ", id="an empty key"),
        pytest.param("${directory::password}", "expected ${env:NAME}, ", id="no directory"),
        pytest.param("${file:FOLDER/missing:a}", "cannot read FOLDER/missing: No such file or directory", id="no file"),
        pytest.param("${file:FOLDER/bytes:a}", "cannot read FOLDER/bytes: expected a properties file", id="no text"),
        pytest.param("${file:FOLDER/\0:a}", "embedded null byte", id="no path"),
        pytest.param("${file:FOLDER/secrets.properties:a}", "the file has no key a", id="key that is missing"),
        pytest.param("${directory:FOLDER:missing}", "No such file or directory", id="file that is missing"),
        pytest.param("${directory:FOLDER:bytes}", "the file is no text", id="file without text"),
        pytest.param("${directory:FOLDER:\0}", "embedded null byte", id="no name of a file"),
        pytest.param("${directory:FOLDER:.}", "Is a directory", id="directory"),
        pytest.param("${directory:FOLDER:..}", "expected the name of a file in that directory", id="parent"),
        pytest.param("${directory:FOLDER:../x}", "expected the name of a file in that directory", id="path"),
        pytest.param("${directory:FOLDER:/etc/x}", "expected the name of a file in that directory", id="whole path"),
    ],
)
@pytest.mark.rule("AUTH-12")
def test_reference_that_cannot_be_resolved_is_named_without_any_value(folder: Path, text: str, reason: str) -> None:
    reference = text.replace("FOLDER", str(folder))

    with pytest.raises(ConfigError) as refused:
        resolve(f'password="{PLANTED}" {reference}')

    assert str(refused.value).startswith(f"{reference}: {reason.replace('FOLDER', str(folder))}")
    assert PLANTED not in str(refused.value)
