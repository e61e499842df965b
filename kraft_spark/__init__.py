"""The package for Spark applications: a quorum beside the driver, msgpack columns, and monitoring of queries.

    QuorumService                          voters beside the driver of a Spark application
    to_msgpack, from_msgpack               columns to msgpack and back
    read_msgpack                           the same, without malformed rows
    register_msgpack_functions             the same in SQL; register_msgpack_reader for a schema
    QueryMonitor, observe_bytes            lag, rates and leader changes of streaming queries
    use_in_thread                          lets a second thread write
    KraftReadOptions, KraftWriteOptions    types of the options of `format("kraft")`
    RaftError                              the base of all errors: ConfigError, StorageError, QuorumUnavailableError,
                                           and of msgpack SchemaError, MalformedValueError, UnpackableValueError

The data source itself needs no import: `spark.readStream.format("kraft")`.

If it is imported before the first session of the program, Spark's workers run this Python, unless the environment
variable `PYSPARK_PYTHON` or `PYSPARK_DRIVER_PYTHON` names another one. `python -m kraft_spark` checks that and the rest
of the installation.
"""

import os

try:
    from pyspark_kraft.own_packages import load_own_packages

    if (hidden := load_own_packages()) is not None:
        raise ImportError(hidden)

    from datasource.spark_internals.jvm import has_started
    from kraft_spark.monitoring import QueryMonitor, observe_bytes
    from kraft_spark.msgpack.errors import MalformedValueError, SchemaError, UnpackableValueError
    from kraft_spark.msgpack_columns import from_msgpack, read_msgpack, to_msgpack
    from kraft_spark.msgpack_functions import register_msgpack_functions, register_msgpack_reader
    from kraft_spark.option_types import KraftReadOptions, KraftWriteOptions
    from kraft_spark.quorum_service import QuorumService
    from kraft_spark.threads import use_in_thread
    from kraft_spark.worker_python import choose_this_python
    from raft import __version__
    from raft.errors import ConfigError, QuorumUnavailableError, RaftError, StorageError
except ModuleNotFoundError as error:
    if error.name not in ("msgpack", "numpy", "py4j", "pyarrow", "pyspark"):
        raise
    raise ImportError(f"kraft_spark needs {error.name}: pip install 'kraft-spark[spark]'") from error

has_chosen_python = choose_this_python(os.environ, has_started=has_started())

__all__ = [
    "ConfigError",
    "KraftReadOptions",
    "KraftWriteOptions",
    "MalformedValueError",
    "QueryMonitor",
    "QuorumService",
    "QuorumUnavailableError",
    "RaftError",
    "SchemaError",
    "StorageError",
    "UnpackableValueError",
    "__version__",
    "from_msgpack",
    "observe_bytes",
    "read_msgpack",
    "register_msgpack_functions",
    "register_msgpack_reader",
    "to_msgpack",
    "use_in_thread",
]
