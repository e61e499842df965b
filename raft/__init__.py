"""A KRaft quorum in Python: Kafka's Raft (KIP-595, with Pre-Vote from KIP-996), byte for byte."""

__version__ = "0.3.0.dev0"
