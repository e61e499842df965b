"""Record batches as Kafka writes them (magic v2): heads, checksums, compression, records, control records."""
