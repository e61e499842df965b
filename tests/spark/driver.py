"""A Spark application that is killed: until then it streams a folder of files into a quorum.

python -m tests.spark.driver BOOTSTRAP_SERVERS INPUT CHECKPOINT WAREHOUSE
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.spark.session import make_session
from tests.spark.streams import Input, into_log


def main() -> None:
    """Run until killed."""
    servers, source, checkpoint, warehouse = sys.argv[1:]
    spark = make_session(Path(warehouse))
    stream = Input(Path(source)).stream(spark)
    into_log(stream, servers, Path(checkpoint)).trigger(processingTime="0 seconds").start().awaitTermination()


if __name__ == "__main__":
    main()
