"""The servers that are measured: quorums of this project, a broker of Kafka, TestRaftServer and etcd."""
