"""A Spark application that is killed: until then it streams a folder of files into a quorum.

python -m tests.spark.driver CLIENT_PROPERTIES INPUT CHECKPOINT WAREHOUSE
"""

from __future__ import annotations

import sys
from pathlib import Path

from raft.config import read_properties
from tests.spark.frames import SERVERS
from tests.spark.session import make_session
from tests.spark.streams import Input, into_log


def main() -> None:
    """Run until killed."""
    config, source, checkpoint, warehouse = map(Path, sys.argv[1:])
    stream = Input(source).stream(make_session(warehouse))
    options = {f"kraft.{key}": value for key, value in read_properties(config).items()}
    writing = into_log(stream, options[SERVERS], checkpoint, **options)
    writing.trigger(processingTime="0 seconds").start().awaitTermination()


if __name__ == "__main__":
    main()
