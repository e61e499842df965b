"""The types of the options name every option of the data source, and each value that they allow is accepted."""

from __future__ import annotations

import pydoc
import re
from typing import Any, get_args, get_type_hints

import pytest

from datasource.client_options import BOOTSTRAP_SERVERS
from datasource.option import Use
from datasource.option_names import check_names
from datasource.options import OPTIONS, ReadOptions, WriteOptions
from kraft_spark import KraftReadOptions, KraftWriteOptions
from raft.errors import ConfigError

REQUIRED = {BOOTSTRAP_SERVERS: "127.0.0.1:20001"}
SASL = {"kraft.sasl.mechanism": "SCRAM-SHA-256", "kraft.sasl.jaas.config": "..."}
TOGETHER = {
    "txnAppId": {"txnVersion": "1"},
    "txnVersion": {"txnAppId": "app"},
    "maxTriggerDelay": {"minOffsetsPerTrigger": "5"},
    "kraft.client.rack": {"kraft.read.from": "nearest"},
    "kraft.security.protocol=SASL_PLAINTEXT": SASL,
    "kraft.security.protocol=SASL_SSL": SASL,
    "kraft.sasl.mechanism": {"kraft.security.protocol": "SASL_SSL", **SASL},
    "kraft.sasl.jaas.config": {"kraft.security.protocol": "SASL_SSL", **SASL},
}
"""Options that are refused by themselves, with those that they need."""
TEXTS = {
    "startingTimestamp": "-10 minutes",
    "endingTimestamp": "-1 s",
    "maxTriggerDelay": "15m",
    "kraft.ssl.enabled.protocols": "TLSv1.3",
    "kraft.ssl.endpoint.identification.algorithm": "",
}


def hints(of: type) -> dict[str, Any]:
    """The names of the options, each with its type in place of the annotation."""
    return get_type_hints(of)


def samples(hint: Any, name: str) -> list[Any]:
    """Values of the type of an option: all literals, both booleans, a number, a text."""
    if hint is bool:
        return [True, False]
    if hint is int:
        return [20_000]
    if hint is str:
        return [TEXTS.get(name, "127.0.0.1:20001")]
    if type(get_args(hint)[0]) is str:
        return list(get_args(hint))
    return [value for part in get_args(hint) for value in samples(part, name)]


def as_spark_passes(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# mypy refuses this name: without an error here, mypy would report the comment as unused.
MISSPELT: KraftReadOptions = {"maxOffsetsPerTriger": 5}  # type: ignore[typeddict-unknown-key]

# The value nearest is a case of kraft.client.rack, which it needs.
CASES = [
    pytest.param(of, parse, name, value, id=f"{of.__name__}-{name}-{value}")
    for of, parse in ((KraftReadOptions, ReadOptions.of), (KraftWriteOptions, WriteOptions.of))
    for name, hint in hints(of).items()
    for value in samples(hint, name)
    if value != "nearest"
]


def test_types_have_the_options_of_the_table() -> None:
    assert {*hints(KraftReadOptions)} == {row.name for row in OPTIONS if row.uses & Use.READ}
    assert {*hints(KraftWriteOptions)} == {row.name for row in OPTIONS if row.uses & Use.WRITE}
    assert len({row.name.lower() for row in OPTIONS}) == len(OPTIONS)


@pytest.mark.parametrize(("of", "parse", "name", "value"), CASES)
def test_value_of_the_type_is_accepted(of: type, parse: Any, name: str, value: object) -> None:
    needed = TOGETHER.get(name) or TOGETHER.get(f"{name}={value}", {})
    if name.startswith("kraft.ssl."):
        needed = {"kraft.security.protocol": "SSL"}
    given = {**REQUIRED, **needed, name: as_spark_passes(value)}

    check_names(given)
    parse(given)


def test_misspelt_name_is_refused_by_mypy_and_by_the_source() -> None:
    with pytest.raises(ConfigError, match="did you mean maxOffsetsPerTrigger"):
        check_names({name: as_spark_passes(value) for name, value in MISSPELT.items()})


@pytest.mark.parametrize(
    ("of", "use"), [(KraftReadOptions, Use.READ), (KraftWriteOptions, Use.WRITE)], ids=["read", "write"]
)
def test_help_says_what_each_option_means_and_its_default(of: type, use: Use) -> None:
    shown = pydoc.plain(pydoc.render_doc(of))

    for row in OPTIONS:
        if row.uses & use:
            line = re.search(rf"^ \|      {re.escape(row.name)}: (.*)\.$", shown, re.MULTILINE)
            assert line is not None, shown
            assert row.meaning in line[1]
            assert row.shown_default in line[1]
