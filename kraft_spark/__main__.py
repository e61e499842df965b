"""`python -m kraft_spark`: the same as `kraft doctor`, for the Python that has kraft-spark."""

import os
import sys

import kraft_spark
from raft.cli.main import main

if kraft_spark.has_chosen_python:
    # Only a program that imports kraft_spark has this choice.
    del os.environ["PYSPARK_PYTHON"]
sys.argv[1:1] = ["doctor"]
main()
