"""What Spark applications import: a quorum beside the driver, and msgpack columns.

    from kraft_spark import QuorumService, from_msgpack, to_msgpack

The data source itself needs no import: `spark.readStream.format("kraft")`.
"""

try:
    from kraft_spark.msgpack_columns import from_msgpack, to_msgpack
    from kraft_spark.quorum_service import QuorumService
except ModuleNotFoundError as error:
    if error.name not in ("msgpack", "numpy", "py4j", "pyarrow", "pyspark"):
        raise
    raise ImportError(f"kraft_spark needs {error.name}: pip install 'kraft-spark[spark]'") from error

__all__ = ["QuorumService", "from_msgpack", "to_msgpack"]
