"""The jars of Apache Kafka's programs and of Spark's Kafka connector, fetched by Maven at the first use."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks.servers.missing import MissingPeerError, require_programs

_FETCH = Path(__file__).parents[2] / "scripts" / "kafka" / "fetch.sh"


def fetched_jars(what: str) -> Path:
    """Return a folder of jars: of "programs" or of the "connector".

    Raises:
        MissingPeerError: Java or Maven is not installed, or the jars cannot be fetched.
    """
    require_programs("java", "mvn", needed_for="Apache Kafka", advice="install them, then run this again")
    fetched = subprocess.run([_FETCH, what], capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        raise MissingPeerError(f"the jars of Apache Kafka's {what} cannot be fetched: {fetched.stderr.strip()[-300:]}")
    return Path(fetched.stdout.strip())
