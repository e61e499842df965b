"""An application as in the README: kraft_spark is imported, then a session is created; prints one column of `kraft`.

python -m tests.kraft_spark.importing_application
"""

from __future__ import annotations

from pyspark.sql import SparkSession

import kraft_spark


def main() -> None:
    """Run it."""
    assert kraft_spark.QuorumService is not None
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    changes = spark.read.format("kraft").option("kraft.bootstrap.servers", "127.0.0.1:1").load()
    print(changes.columns[2], flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
