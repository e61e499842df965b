"""The records of `__cluster_metadata`: what Kafka's controllers write about topics, brokers and the rest.

records        each record type, declared once
record_types   the table of all types
record         the value of a record of the log to a typed message, and back

It is pure: bytes and values only. Rules META-1 to META-5.
"""
