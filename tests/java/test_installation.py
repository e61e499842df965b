"""A machine on which Kafka's programs cannot run is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.java.installation import installed_kafka


@pytest.mark.parametrize(
    ("ci", "outcome"),
    [pytest.param("", pytest.skip.Exception, id="not in CI"), pytest.param("true", pytest.fail.Exception, id="CI")],
)
def test_programs_are_skipped_outside_ci_and_fail_in_ci_when_java_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", ci)

    with pytest.raises(outcome, match="need java and mvn"):
        installed_kafka()
