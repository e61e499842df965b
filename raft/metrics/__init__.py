"""Metrics of a node, for Prometheus, and its health, over HTTP (`metrics.listeners`; rules METRIC).

Names are those that the JMX exporter makes of Kafka's by default, in lower case. What Kafka has no metric for begins
with `kraft_`. Each node has a registry of its own, because a process may run several nodes.
"""
