"""Runs the application with the planted secrets, and knows the places where they must not stand."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from pyspark.find_spark_home import _find_spark_home

from tests.hang import HANG_S
from tests.metrics.http_client import ask
from tests.metrics.scraped import port_of_metrics
from tests.processes.commands import ROOT, child_environment
from tests.secured.secured_quorum import SecuredQuorum
from tests.secured_spark.planting import CONTROL, JAAS_VARIABLE, PROPERTIES, VARIABLE, Planted
from tests.secured_spark.refused import DRIVER_FILE, REFUSED
from tests.spark.applications import Application

MASTER = "local-cluster[1,1,1024]"

_LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = stderr
logger.spark.name = org.apache.spark
logger.spark.level = debug
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d %p %c{1}: %m%n%ex
"""

_PYTHON_LOGS = """\
import logging

logging.basicConfig(level=logging.DEBUG)
py4j = logging.getLogger("py4j")
py4j.propagate = False
py4j.addHandler(logging.FileHandler({file!r}))
"""
"""A module `sitecustomize`, with which all Python processes log everything. What Py4J logs has a file of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is left to see while the application still runs.

    Fields:
        planted: what was planted.
        places: folders in which secrets must not stand, by their names.
        py4j: the folder with what Py4J has logged.
        service: the directory of the quorum beside the driver.
        command_lines: of all processes of the application.
        rows: the values that each way has read; see `planted_application`.
        errors: the messages of the uses that are refused.
        warnings: of the quorum beside the driver.
    """

    planted: Planted
    places: dict[str, Path]
    py4j: Path
    service: Path
    command_lines: str
    rows: dict[str, list[str]]
    errors: dict[str, str]
    warnings: list[str]

    @property
    def handed_file(self) -> Path:
        """The file that hands the credentials of the quorum beside the driver to executors."""
        (handed,) = self.places["local"].glob("*/userFiles-*/kraft-quorum-*.properties")
        return handed

    @property
    def secrets(self) -> dict[str, str]:
        """All secrets that are only referred to, and those of the quorum beside the driver."""
        passwords = json.loads((self.service / "secrets.json").read_text())["passwords"]
        return {
            **self.planted.secrets,
            **{f"service's {name}": password for name, password in passwords.items()},
            **{
                f"key in {path.relative_to(self.service)}": _key(path)
                for path in self.service.rglob("*.pem")
                if _key(path)
            },
        }

    @property
    def kept(self) -> list[bytes]:
        """The contents of the files that Spark brings to executors."""
        return [file.read_bytes() for file in (*self.planted.files, self.handed_file)]


def run(stack: ExitStack, quorum: SecuredQuorum, planted: Planted, folder: Path) -> Seen:
    """Run the application up to the point where it has done everything.

    Args:
        stack: ends it.
        quorum: that it uses.
        planted: its secrets.
        folder: of the quorum; gets one for the application.
    """
    own = folder / "application"
    for name in ("events", "modules", "py4j"):
        (own / name).mkdir(parents=True)
    shutil.copy(quorum.authority, own / DRIVER_FILE)
    (own / "task.json").write_text(json.dumps(_task(planted)))
    environment = _environment(planted, own)
    application = stack.enter_context(
        Application(
            "tests.secured_spark.planted_application", own, environment=environment, enter=("env", "-C", str(own))
        )
    )
    application_id = application.line(within_s=HANG_S)
    assert application_id.startswith("app-"), f"{application_id}\n{application.errors}"
    executor = Path(environment["SPARK_HOME"], "work", application_id)
    stack.callback(shutil.rmtree, executor, ignore_errors=True)
    _write_logs(application, quorum, own / "logs")
    processes = psutil.Process(application.pid).children(recursive=True)
    written = [own / name for name in ("events", "checkpoints", "local")]
    folders = [*(own / "shown").iterdir(), *(own / "logs").iterdir(), *written, executor]
    seen = json.loads((own / "seen.json").read_text())
    return Seen(
        planted=planted,
        places={"executor" if each == executor else each.name: each for each in folders},
        py4j=own / "py4j",
        service=own / f"service-{CONTROL}",
        command_lines="\n".join(map(_command_line, processes)),
        **seen,
    )


def _task(planted: Planted) -> dict[str, Any]:
    return {
        "master": MASTER,
        "control": CONTROL,
        "ways": planted.ways,
        "literal": planted.literal_options["option"],
        "statement": planted.literal_options["statement"],
        "refused": {name: refused.options(planted) for name, refused in REFUSED.items()},
    }


def _environment(planted: Planted, own: Path) -> dict[str, str]:
    """Return the environment of the application, and write the properties of Spark."""
    (own / "log4j2.properties").write_text(_LOG4J)
    (own / "modules" / "sitecustomize.py").write_text(_PYTHON_LOGS.format(file=str(own / "py4j" / "log")))
    path = os.pathsep.join([str(own / "modules"), str(ROOT)])
    logging = f"-Dlog4j2.configurationFile=file:{own / 'log4j2.properties'}"
    properties = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secrets.token_hex(),
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file:{own / 'events'}",
        "spark.local.dir": str(own / "local"),
        "spark.rdd.compress": "false",
        "spark.broadcast.compress": "false",
        "spark.shuffle.compress": "false",
        "spark.driver.memory": "600m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.task.maxFailures": "1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(own / "warehouse"),
        "spark.files": ",".join(map(str, planted.files)),
        "spark.kraft.control": CONTROL,
        "spark.executor.extraJavaOptions": logging,
        "spark.executorEnv.PYTHONPATH": path,
        **{f"spark.executorEnv.{name}": value for name, value in planted.executor_variables.items()},
    }
    # Not by `builder.config`: it would be on the command line of the JVM, which all users of the machine see.
    defaults = own / "spark-defaults.conf"
    defaults.touch(mode=0o600)
    defaults.write_text("".join(f"{name} {value}\n" for name, value in properties.items()))
    return child_environment(
        **planted.variables,
        KRAFT_CONFIG_PROVIDERS=f"file:{PROPERTIES},directory:.,env:{VARIABLE},env:{JAAS_VARIABLE}",
        PYSPARK_SUBMIT_ARGS=f"--properties-file {defaults} pyspark-shell",
        SPARK_SUBMIT_OPTS=f"{os.environ['SPARK_SUBMIT_OPTS']} {logging}",
        SPARK_HOME=_find_spark_home(),
        SPARK_LOCAL_IP="127.0.0.1",
        PYSPARK_PYTHON=sys.executable,
        PYTHONPATH=path,
    )


def _write_logs(application: Application, quorum: SecuredQuorum, folder: Path) -> None:
    """Write what the driver and the nodes have logged, and the pages of their metrics."""
    texts = {
        "driver log": {"driver": application.errors},
        "node logs": {str(node_id): node.output for node_id, node in quorum.nodes.items()},
        "metrics": {
            f"{node_id} {path.removeprefix('/')}": ask(port_of_metrics(node.properties), path).body
            for node_id, node in quorum.nodes.items()
            for path in ("/metrics", "/healthz", "/readyz")
        },
    }
    for place, logs in texts.items():
        (folder / place).mkdir(parents=True)
        for name, text in logs.items():
            (folder / place / name).write_text(text)


def _command_line(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess):  # Workers of Python end while they are looked at.
        return " ".join(process.cmdline())
    return ""


def _key(path: Path) -> str:
    """Return the second line of a PEM file's private key, since the first is much the same in all; "" without a key."""
    _, _, key = path.read_text().partition("PRIVATE KEY-----\n")
    return key.split("\n")[1] if key else ""
