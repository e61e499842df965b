"""The works that are measured, in the order in which they run: works that share services follow one another."""

from benchmarks.works import append, backfill, bulk, failover, latency, library, sink, stream, tls, values, view, write
from benchmarks.works.work import Work

ALL: tuple[Work, ...] = (
    backfill.WORK,
    view.WORK,
    stream.WORK,
    sink.WORK,
    write.WORK,
    tls.WORK,
    latency.WORK,
    bulk.WORK,
    library.WORK,
    append.WORK,
    failover.WORK,
    values.WORK,
)
