"""A Spark application whose workers run another Python; it prints the error of the first use of `kraft`."""

from __future__ import annotations

from pyspark.sql import SparkSession


def main() -> None:
    """Run the application."""
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        spark.read.format("kraft").option("kraft.bootstrap.servers", "127.0.0.1:1").load()
    except Exception as error:
        print(" ".join(str(error).split()), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
