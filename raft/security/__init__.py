"""Who is at the other side of a connection, and what it may do: TLS, SASL and authorization.

The settings are in `raft.config`. The messages of TLS and SASL are made and read here without sockets; the parts that
read files are those of certificates, credentials, rules and references.
"""
