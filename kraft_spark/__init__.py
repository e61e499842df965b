"""The package for Spark applications: a quorum beside the driver, and msgpack columns.

    from kraft_spark import QuorumService, from_msgpack, to_msgpack

The data source itself needs no import: `spark.readStream.format("kraft")`.

If it is imported before the first session of the program, Spark's workers run this Python, unless the environment
variable `PYSPARK_PYTHON` or `PYSPARK_DRIVER_PYTHON` names another one.
"""

import os

try:
    from pyspark import SparkContext

    from pyspark_kraft.own_packages import load_own_packages

    if (hidden := load_own_packages()) is not None:
        raise ImportError(hidden)

    from kraft_spark.msgpack_columns import from_msgpack, to_msgpack
    from kraft_spark.quorum_service import QuorumService
    from kraft_spark.worker_python import choose_this_python
except ModuleNotFoundError as error:
    if error.name not in ("msgpack", "numpy", "py4j", "pyarrow", "pyspark"):
        raise
    raise ImportError(f"kraft_spark needs {error.name}: pip install 'kraft-spark[spark]'") from error

choose_this_python(os.environ, has_started=SparkContext._gateway is not None)

__all__ = ["QuorumService", "from_msgpack", "to_msgpack"]
