"""The network face: frames, headers and messages of the Kafka protocol."""
