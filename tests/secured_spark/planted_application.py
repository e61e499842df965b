"""An application whose options refer to secrets; its executor is another process, with another working directory.

python -m tests.secured_spark.planted_application FOLDER

FOLDER/task.json has what it does. It prints its id when its last result is in FOLDER, and waits for a line before it
ends. The results in FOLDER are:

    seen.json           the values that each use has read, the messages of the uses that are refused, and the warnings
    shown/PLACE/        what the application has shown of itself
    checkpoints/        of its streams
    events/, local/     the event log, and spark.local.dir
    service-CONTROL/    the directory of a quorum beside the driver, which runs until the application ends
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark import RDD, StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kraft_spark import QuorumService
from tests.secured_spark import gathering
from tests.secured_spark.objects import objects_of
from tests.secured_spark.planting import SERVERS, Options
from tests.spark.frames import Frames
from tests.spark.streams import Input, into_log

LARGE_ROWS = 1_000
_PADDING = "x" * 200
"""Makes a write too large for a message to the driver, so that the executor sends it to the leader."""


class Uses:
    """What the application does.

    Args:
        spark: its session.
        folder: gets the results.
        control: a text that stands in all places that are searched for secrets.
    """

    def __init__(self, spark: SparkSession, folder: Path, control: str) -> None:
        self._spark = spark
        self._folder = folder
        self._control = control
        self._queries: list[StreamingQuery] = []
        self._kept: RDD[str] | None = None
        self.rows: dict[str, list[str]] = {}
        self.errors: dict[str, str] = {}
        self.warnings: list[str] = []

    def plant_control(self) -> None:
        """Say the control text in the places that the other uses do not reach."""
        context, control = self._spark.sparkContext, self._control
        context.setJobDescription(control)
        logging.getLogger("kraft.control").debug("%s", control)

        def say(rows: Iterable[int]) -> Iterator[str]:
            logging.getLogger("kraft.control").debug("%s", control)
            yield from (f"{control} {row}" for row in rows)

        self._kept = context.parallelize([1, 2], 1).mapPartitions(say).persist(StorageLevel.DISK_ONLY)
        self._kept.count()
        self.fail(control, {SERVERS: "a:1", "view": control})

    def pass_batches(self, name: str, options: Options) -> None:
        """Write and read with some options."""
        frames = Frames(self._spark, options[SERVERS])
        frames.write(self._spark.range(3).selectExpr(f"concat('{name} ', id) value"), **options)
        frames.write(self._large(name), **options)
        batch = self._texts(frames.read(**options))
        self.rows[name] = _values(batch.collect(), name)
        gathering.write_texts(self._folder / "shown" / "plans" / name, gathering.plans(batch))

    def pass_streams(self, name: str, options: Options) -> None:
        """Write and read with some options as streams."""
        frames, source = Frames(self._spark, options[SERVERS]), Input(self._folder / f"input-{self._control}-{name}")
        source.add([f"{name} streamed"])
        self._run(into_log(source.stream(self._spark), options[SERVERS], self._checkpoint(name), **options), name)
        read = frames.stream(**options, startingOffsets="earliest").selectExpr("cast(value as string) value")
        table = read.writeStream.format("memory").option("checkpointLocation", str(self._checkpoint(f"{name} read")))
        self._run(table.trigger(availableNow=True), f"read_{name}")
        self.rows[f"{name}, streams"] = _values(self._spark.table(f"read_{name}").collect(), name)

    def read_with_literals(self, options: Options, statement_options: Options) -> None:
        """Read with passwords as they are: in options of a batch and a stream, and in a statement."""
        frames = Frames(self._spark, options[SERVERS])
        batch = self._texts(frames.read(**options))
        batch.count()
        query = frames.stream(**options, startingOffsets="earliest").writeStream.format("noop")
        query.option("checkpointLocation", str(self._checkpoint("literal"))).trigger(availableNow=True)
        self._run(query, "literal")
        given = ", ".join(f"'{name}' '{value}'" for name, value in statement_options.items())
        self._spark.sql(f"CREATE TEMPORARY VIEW literals USING kraft OPTIONS ({given})")
        viewed = self._texts(self._spark.table("literals"))
        viewed.count()
        for name, frame in (("literal", batch), ("statement", viewed)):
            gathering.write_texts(self._folder / "shown" / "plans" / name, gathering.plans(frame))

    def fail(self, name: str, options: Options) -> None:
        """Read with options that are refused."""
        frames = Frames(self._spark, options[SERVERS])
        self.errors[name] = gathering.failure(lambda: frames.read(**options).count())

    def use_service(self) -> None:
        """Use a quorum of its own, without options for its security; it is not stopped."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            folder = self._folder / f"service-{self._control}"
            quorum = QuorumService.start(self._spark, voters=1, data_dir=folder, listen="driver", metrics=True)
        self.warnings = [str(warning.message) for warning in caught]
        frames = Frames(self._spark, quorum.bootstrap_servers)
        frames.write(self._large("service"))
        batch = self._texts(frames.read())
        self.rows["service"] = _values(batch.collect(), "service")
        gathering.write_texts(self._folder / "shown" / "plans" / "service", gathering.plans(batch))
        (url,) = quorum.metrics_urls.values()
        shown = {
            "repr": repr(quorum),
            "html": quorum._repr_html_(),
            "status": repr(quorum.describe()),
            "service": repr(vars(quorum)),
            "quorum": repr(vars(quorum._quorum)),
            "metrics": str(gathering.page(url)),
        }
        gathering.write_texts(self._folder / "shown" / "service", shown.items())

    def show_itself(self, options: Options) -> None:
        """Show what is left: the UI, the REST API, the progress of the queries, and objects made of options."""
        context, shown = self._spark.sparkContext, self._folder / "shown"
        assert context.uiWebUrl is not None, "the UI is on"
        for number, query in enumerate(self._queries):
            gathering.write_texts(shown / "progress" / str(number), gathering.progress(query))
        gathering.write_texts(shown / "errors", self.errors.items())
        gathering.write_texts(shown / "objects", objects_of(options, self._control))
        gathering.write_texts(shown / "pages", gathering.pages(context.uiWebUrl))
        gathering.write_texts(shown / "resources", gathering.resources(context.uiWebUrl, context.applicationId))

    def _texts(self, records: DataFrame) -> DataFrame:
        return records.selectExpr("cast(value as string) value").where(f"value != '{self._control}'")

    def _large(self, name: str) -> DataFrame:
        return self._spark.range(LARGE_ROWS, numPartitions=1).selectExpr(
            f"concat('{name} large {_PADDING} ', id) value"
        )

    def _run(self, writer: Any, name: str) -> None:
        query: StreamingQuery = writer.queryName(name).start()
        query.awaitTermination()
        self._queries.append(query)

    def _checkpoint(self, name: str) -> Path:
        return self._folder / "checkpoints" / name


def _values(rows: Iterable[Any], name: str) -> list[str]:
    """Return the values that begin with a name, without name and padding."""
    return [
        row.value.removeprefix(f"{name} ").replace(f"{_PADDING} ", "") for row in rows if row.value.startswith(name)
    ]


def main() -> None:
    """Run it."""
    folder = Path(sys.argv[1])
    task = json.loads((folder / "task.json").read_text())
    spark = SparkSession.builder.appName("planted").master(task["master"]).getOrCreate()
    uses = Uses(spark, folder, task["control"])
    uses.plant_control()
    for name, options in task["ways"].items():
        uses.pass_batches(name, options)
    for name in ("environment", "key"):
        uses.pass_streams(name, task["ways"][name])
    uses.read_with_literals(task["literal"], task["statement"])
    uses.use_service()
    for name, options in task["refused"].items():
        uses.fail(name, options)
    uses.show_itself(task["ways"]["environment"])
    seen = {"rows": uses.rows, "errors": uses.errors, "warnings": uses.warnings}
    (folder / "seen.json").write_text(json.dumps(seen))
    print(spark.sparkContext.applicationId, flush=True)
    sys.stdin.readline()
    spark.stop()


if __name__ == "__main__":
    main()
