"""How authentications end, by the names of Kafka's metrics."""

from __future__ import annotations

from raft.security.outcomes import AuthenticationOutcome


def test_outcomes_have_the_names_of_kafkas_metrics() -> None:
    assert [outcome.value for outcome in AuthenticationOutcome] == [
        "successful-authentication",
        "failed-authentication",
        "successful-reauthentication",
        "failed-reauthentication",
        "expired-connections-killed",
    ]
