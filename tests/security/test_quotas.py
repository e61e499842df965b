"""Client quotas: whose limit holds, and files that are malformed."""

from __future__ import annotations

import pytest

from raft.errors import ConfigError
from raft.security.quotas import QuotaKind, Quotas

PRODUCER, REQUEST = QuotaKind.PRODUCER_BYTE_RATE, QuotaKind.REQUEST_PERCENTAGE

LEVELS = [
    ('user = "u"\nclient-id = "c"', ("u", "c")),
    ('user = "u"\nclient-id = "<default>"', ("u", "c")),
    ('user = "u"', ("u", None)),
    ('user = "<default>"\nclient-id = "c"', ("u", "c")),
    ('user = "<default>"\nclient-id = "<default>"', ("u", "c")),
    ('user = "<default>"', ("u", None)),
    ('client-id = "c"', (None, "c")),
    ('client-id = "<default>"', (None, "c")),
]
"""Whom a quota names, the most specific first (KIP-55), and who shares its limit with user u and client id c."""


def quotas(*tables: str) -> Quotas:
    return Quotas.parse("\n".join(f"[[quota]]\n{table}" for table in tables))


@pytest.mark.rule("QUOTA-1")
@pytest.mark.parametrize("first", range(len(LEVELS)))
def test_the_most_specific_quota_holds(first: int) -> None:
    configured = [f"{names}\nproducer_byte_rate = {number + 1}" for number, (names, _) in enumerate(LEVELS)]

    found = quotas(*reversed(configured[first:])).of(PRODUCER, "u", "c")

    assert found == (LEVELS[first][1], first + 1)


@pytest.mark.rule("QUOTA-1")
def test_quota_of_one_kind_does_not_hide_a_less_specific_one_of_another() -> None:
    both = quotas('user = "u"\nrequest_percentage = 5', 'user = "<default>"\nproducer_byte_rate = 7.5')

    assert both.of(PRODUCER, "u", "c") == (("u", None), 7.5)
    assert both.of(REQUEST, "u", "c") == (("u", None), 5)
    assert both.of(REQUEST, "other", "c") is None


def test_file_without_quotas_limits_no_client() -> None:
    assert Quotas.parse("").of(REQUEST, "u", "c") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[quota]", "the file is no TOML: "),
        ("[quotas]", "the file has the key quotas: expected tables"),
        ("quota = 3", "quota is 3: expected tables"),
        ("[[quota]]\nproducer_byte_rate = 1", "quota 1 names no client: expected user, client-id or both"),
        ('[[quota]]\nuser = "u"', "quota 1 limits nothing: expected producer_byte_rate, consumer_byte_rate, request_p"),
        ('[[quota]]\nuser = ""\nrequest_percentage = 1', "quota 1: user is '': expected a name, or \"<default>\""),
        ("[[quota]]\nclient-id = 1\nrequest_percentage = 1", "quota 1: client-id is 1: expected a name"),
        (
            '[[quota]]\nuser = "u"\nbyte_rate = 1',
            "quota 1 has the key byte_rate: expected user, client-id, producer_byte",
        ),
        (
            '[[quota]]\nuser = "u"\nrequest_percentage = 0',
            "quota 1: request_percentage is 0: expected a number from 0.001 to 2^63 - 1",
        ),
        ('[[quota]]\nuser = "u"\nrequest_percentage = true', "quota 1: request_percentage is True: expected a number"),
        (
            f'[[quota]]\nuser = "u"\nproducer_byte_rate = {"9" * 400}',
            "quota 1: producer_byte_rate is 999999999999999999...",
        ),
        ('[[quota]]\nuser = "u"\nrequest_percentage = 1e-9', "quota 1: request_percentage is 1e-09: expected a number"),
        ('[[quota]]\nuser = "u"\nrequest_percentage = inf', "quota 1: request_percentage is inf: expected a number"),
        ('[[quota]]\nuser = "u"\nrequest_percentage = "5"', "quota 1: request_percentage is '5': expected a number"),
        (
            '[[quota]]\nuser = "u"\nrequest_percentage = 1\n[[quota]]\nuser = "u"\nproducer_byte_rate = 1',
            "quota 2 is for user u, which has a quota before it: expected one",
        ),
    ],
)
def test_malformed_file_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Quotas.parse(text)

    assert str(refused.value).startswith(reason)
