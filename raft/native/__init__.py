"""Code in C that runs for each record, in one library: `libkraft`.

    record.h       reads one record
    scanner.c      checks the records that a node takes            called by raft/records/scanner.py
    compactor.c    finds the newest record of each key             called by raft/compaction/compactor.py
    columns.c      makes columns of records, and records of them   called by datasource/columns/kernel.py
    version.c      the version of all calls and structures

`build_native.py` compiles it beside these sources, and `library.py` loads it. Nothing else loads code in C.
"""
