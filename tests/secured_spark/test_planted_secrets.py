"""Secrets that options refer to stand in no place that an application shows, writes or logs (AUTH-12).

The same search finds a text that is planted in each of these places, and passwords that options have as they are.
"""

from __future__ import annotations

import re

import pytest

from tests.secured_spark.planted_application import LARGE_ROWS
from tests.secured_spark.planting import CONTROL
from tests.secured_spark.refused import REFUSED
from tests.secured_spark.searching import Search
from tests.secured_spark.seen import Seen

pytestmark = pytest.mark.spark

LARGE = [f"large {number}" for number in range(LARGE_ROWS)]

PLACES = (
    "plans",
    "pages",
    "resources",
    "progress",
    "errors",
    "objects",
    "service",
    "events",
    "checkpoints",
    "local",
    "driver log",
    "executor",
    "node logs",
    "metrics",
)

_SHOWN_BY_METRICS = "SASL_SSL"
"""The pages of metrics have no text of a client; they name the listeners."""


@pytest.mark.parametrize("way", ["environment", "file", "directory", "key"])
def test_executors_read_and_write_with_what_spark_brings_them(seen: Seen, way: str) -> None:
    assert sorted(seen.rows[way]) == sorted(["0", "1", "2", *LARGE])


@pytest.mark.parametrize("way", ["environment", "key"])
def test_streams_read_and_write_with_what_spark_brings_to_executors(seen: Seen, way: str) -> None:
    assert sorted(seen.rows[f"{way}, streams"]) == sorted([*seen.rows[way], "streamed"])


def test_executors_read_and_write_a_quorum_beside_the_driver_without_options(seen: Seen) -> None:
    assert sorted(seen.rows["service"]) == sorted(LARGE)
    assert seen.warnings == [], "driver and executors authenticate"


@pytest.mark.rule("AUTH-12")
@pytest.mark.parametrize("place", PLACES)
def test_secret_that_is_only_referred_to_stands_nowhere(seen: Seen, place: str) -> None:
    folder = seen.places[place]
    control = _SHOWN_BY_METRICS if place == "metrics" else CONTROL

    assert Search({"control": control}).in_folder(folder), "what is planted here is found"
    assert Search(seen.secrets).in_folder(folder, kept=seen.kept) == set()


def test_all_places_are_searched(seen: Seen) -> None:
    assert sorted(seen.places) == sorted(PLACES)
    search = Search({"secret": "--properties-file", **seen.secrets})
    assert search.in_bytes(seen.command_lines.encode()) == {"secret"}


@pytest.mark.rule("AUTH-12")
def test_password_that_an_option_has_stands_in_debug_logs_of_others_only(seen: Seen) -> None:
    """Of Py4J, which logs each call from Python to Java, and of Spark's parser, which logs each statement of SQL."""
    search = Search(seen.planted.literals)

    found = {place: search.in_folder(folder) for place, folder in seen.places.items()}

    assert {place: names for place, names in found.items() if names} == {"driver log": {("statement", "driver")}}
    assert search.in_folder(seen.py4j) == {("option", "log"), ("statement", "log")}


@pytest.mark.rule("AUTH-12")
def test_secrets_of_a_quorum_beside_the_driver_stand_in_private_files_only(seen: Seen) -> None:
    found = Search(seen.secrets).in_folder(seen.service)

    assert found == {
        ("service's application", "secrets.json"),
        ("service's application", "client.properties"),
        ("key in authority.pem", "authority.pem"),
        ("key in node-1/node.pem", "node-1/node.pem"),
    }
    for path in (seen.handed_file, *seen.service.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("name", REFUSED)
def test_refused_read_says_what_is_expected(seen: Seen, name: str) -> None:
    assert re.search(REFUSED[name].message, seen.errors[name]), seen.errors[name]
