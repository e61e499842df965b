"""Record batches as Kafka writes them (magic v2): headers, checksums, compression, records, control records."""
