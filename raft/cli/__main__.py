"""`python -m raft.cli` is `kraft`."""

from raft.cli.main import main

main()
