"""The servers that are measured: this project's quorum, a broker of Kafka's, TestRaftServer, etcd."""
