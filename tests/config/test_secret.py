"""A secret is printed by no representation, and is equal to one with the same text only."""

from __future__ import annotations

import pickle

import pytest

from raft.config.secret import HIDDEN, Secret

SECRET = Secret("planted-secret")


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(repr(SECRET), id="repr"),
        pytest.param(str(SECRET), id="str"),
        pytest.param(f"{SECRET}", id="formatted"),
        pytest.param(f"{SECRET!r}", id="formatted repr"),
        pytest.param("%s" % SECRET, id="percent"),  # noqa: UP031 - log lines are made so
    ],
)
@pytest.mark.rule("AUTH-12")
def test_secret_is_hidden_in_all_its_texts(shown: str) -> None:
    assert shown == HIDDEN


@pytest.mark.rule("AUTH-12")
def test_secret_is_hidden_inside_of_other_values() -> None:
    assert str({"password": SECRET, "all": [SECRET]}) == "{'password': [hidden], 'all': [[hidden]]}"


def test_secret_has_the_text_that_it_was_made_of() -> None:
    assert SECRET.text == "planted-secret"
    assert {SECRET, Secret("planted-secret"), Secret("another")} == {SECRET, Secret("another")}


def test_secret_is_the_same_in_another_process() -> None:
    assert pickle.loads(pickle.dumps(SECRET)) == SECRET
