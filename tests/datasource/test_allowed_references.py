"""The references that options of queries may have, as the environment of the driver says."""

from __future__ import annotations

import pytest

from datasource.allowed_references import VARIABLE, AllowedReferences
from raft.errors import ConfigError

OPTION = "kraft.sasl.jaas.config"


def named(value: object) -> str:
    """The name of a case: one with a slash could not be that of a file."""
    return str(value).replace("/", "|")


def is_allowed(reference: str, environment: str | None) -> bool:
    allowed = AllowedReferences.of_environment({} if environment is None else {VARIABLE: environment})
    try:
        allowed.check({"startingOffsets": "earliest", OPTION: f'module required password="{reference}";'})
    except ConfigError:
        return False
    return True


@pytest.mark.parametrize("environment", [None, "", " , "])
@pytest.mark.parametrize(
    "reference", ["${env:HOME}", "${file:/etc/x:key}", "${directory:/etc:x}", "${file:x:key}"], ids=named
)
@pytest.mark.rule("AUTH-13")
def test_no_reference_is_allowed_by_default(reference: str, environment: str | None) -> None:
    assert not is_allowed(reference, environment)


@pytest.mark.parametrize(
    ("reference", "environment", "expected"),
    [
        ("${env:A}", "env:A", True),
        ("${env:A}", "env:B, env:A", True),
        ("${env:A}", "env", True),
        ("${env:AB}", "env:A", False),
        ("${env:A}", "file,directory", False),
        ("${file:/etc/kraft/s.properties:k}", "file:/etc/kraft", True),
        ("${file:/etc/kraft/s.properties:k}", "file:/etc/kraft/s.properties", True),
        ("${file:/etc/kraft/s.properties:k}", "file:/etc/kraft/s", False),
        ("${file:/etc/kraft/s.properties:k}", "directory:/etc/kraft", False),
        ("${file:/etc/kraft/../shadow:k}", "file:/etc/kraft", False),
        ("${file:/etc/kraft/a/../s:k}", "file:/etc/kraft", True),
        ("${file:/etc/passwd:k}", "file:/etc/kraft", False),
        ("${file:/anywhere:k}", "file", True),
        ("${file:/anywhere:k}", "file,file:/etc/kraft", True),
        ("${file:/anywhere:k}", "file:/", True),
        ("${directory:/run/secrets:x}", "directory:/run/secrets", True),
        ("${directory:/run/secrets/app:x}", "directory:/run/secrets", True),
        ("${directory:/run:x}", "directory:/run/secrets", False),
        ("${file:s.properties:k}", "file:s.properties", True),
        ("${file:./s.properties:k}", "file:.", True),
        ("${file:../s.properties:k}", "file:.", False),
        ("${file:s.properties:k}", "file:/", False),
        ("${file:/s.properties:k}", "file:.", False),
    ],
    ids=named,
)
@pytest.mark.rule("AUTH-13")
def test_reference_is_allowed_by_its_provider_and_its_place(reference: str, environment: str, expected: bool) -> None:
    assert is_allowed(reference, environment) is expected


def test_text_without_a_reference_is_allowed() -> None:
    assert is_allowed("a $ and a {brace}", None)


def test_refusal_says_what_would_allow_the_reference() -> None:
    with pytest.raises(ConfigError) as refused:
        AllowedReferences.of_environment({}).check({OPTION: "${directory:/run/secrets:x}"})

    assert str(refused.value) == (
        f"option {OPTION}: ${{directory:/run/secrets:x}} is not allowed here: expected directory:/run/secrets in the "
        f"environment variable {VARIABLE} of the driver, set before Spark starts, or the option in the file that "
        "KRAFT_CONFIG names"
    )


@pytest.mark.parametrize("entry", ["vault:a", "env:", ":a", "ENV:A", "file:"])
def test_malformed_entry_is_named(entry: str) -> None:
    with pytest.raises(ConfigError) as refused:
        AllowedReferences.of_environment({VARIABLE: f"env:A,{entry}"})

    assert str(refused.value) == f"{VARIABLE}: {entry}: expected file:PATH, directory:PATH or env:NAME"
