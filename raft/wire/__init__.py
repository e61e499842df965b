"""The Kafka protocol: frames, headers and messages, and their mapping to the messages of the core."""
