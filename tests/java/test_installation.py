"""Where Kafka's programs cannot run, that shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.java.installation import installed_kafka


@pytest.mark.parametrize(
    ("ci", "outcome"),
    [pytest.param("", pytest.skip.Exception, id="a desk"), pytest.param("true", pytest.fail.Exception, id="CI")],
)
def test_programs_are_skipped_at_a_desk_and_fail_in_ci_when_java_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", ci)

    with pytest.raises(outcome, match="need java and mvn"):
        installed_kafka()
