"""A Prometheus that scrapes nodes on this machine, and is queried."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from raft.local.ports import free_ports

JOB = "kraft"
_START_S = 30.0
_LOOK_S = 0.2


class Series(NamedTuple):
    """One line: its labels, and its values by times in seconds since 1970."""

    labels: Mapping[str, str]
    times_s: Sequence[float]
    values: Sequence[float]


class Prometheus:
    """Debian's Prometheus (scripts/ensure_prometheus.sh), a child process.

    Args:
        folder: gets its configuration and its data.
        targets: what it scrapes every second: host:port, by the name of the instance.
    """

    def __init__(self, folder: Path, targets: Mapping[str, str]) -> None:
        self._folder = folder
        (port,) = free_ports(1)
        self._address = f"127.0.0.1:{port}"
        self._configuration = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [
                {
                    "job_name": JOB,
                    "static_configs": [
                        {"targets": [target], "labels": {"instance": instance}} for instance, target in targets.items()
                    ],
                }
            ],
        }

    def __enter__(self) -> Self:
        configuration = self._folder / "prometheus.yml"
        configuration.write_text(json.dumps(self._configuration))  # JSON is YAML too.
        self._output = (self._folder / "prometheus.log").open("wb")
        self._process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={configuration}",
                f"--storage.tsdb.path={self._folder / 'data'}",
                f"--web.listen-address={self._address}",
            ],
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )
        try:
            self._wait()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def query_range(self, query: str, *, begin_s: float, end_s: float) -> list[Series]:
        """Return the series of a query, a value for each second.

        Args:
            query: in PromQL.
            begin_s: of the range, in seconds since 1970.
            end_s: of the range.
        """
        arguments = urlencode({"query": query, "start": begin_s, "end": end_s, "step": "1"})
        with urlopen(f"http://{self._address}/api/v1/query_range?{arguments}", timeout=30) as response:
            found: dict[str, Any] = json.load(response)
        return [
            Series(
                result["metric"],
                [float(at_s) for at_s, _ in result["values"]],
                [float(value) for _, value in result["values"]],
            )
            for result in found["data"]["result"]
        ]

    def _wait(self) -> None:
        deadline_s = time.monotonic() + _START_S
        while True:
            try:
                urlopen(f"http://{self._address}/-/ready", timeout=5).close()
            except URLError:
                log = (self._folder / "prometheus.log").read_text
                assert self._process.poll() is None, log()
                assert time.monotonic() < deadline_s, log()
                time.sleep(_LOOK_S)
            else:
                return

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._output.close()
