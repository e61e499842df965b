import java.util.List;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.tools.TestRaftServer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.BatchReader;
import org.apache.kafka.raft.KafkaRaftClient;
import org.apache.kafka.raft.RaftClient;
import org.apache.kafka.raft.RaftLog;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.SnapshotReader;

/**
 * A TestRaftServer that writes a snapshot after every so many records, and then deletes the log before it as the
 * configuration says. A controller does that once a minute, a TestRaftServer writes no snapshots at all.
 *
 * Arguments: --snapshot-records N, then those of TestRaftServer.
 */
public final class SnapshottingRaftServer implements RaftClient.Listener<byte[]> {
    private static final int RECORDS_OF_A_SNAPSHOT = 100;

    private final KafkaRaftClient<byte[]> client;
    private final RaftLog log;
    private final long interval;
    private long newestEnd = 0;

    private SnapshottingRaftServer(KafkaRaftClient<byte[]> client, RaftLog log, long interval) {
        this.client = client;
        this.log = log;
        this.interval = interval;
    }

    public static void main(String[] arguments) throws Exception {
        var options = new Properties();
        for (int at = 0; at < arguments.length; at += 2) {
            options.put(arguments[at], arguments[at + 1]);
        }
        Properties settings = Utils.loadProps(options.getProperty("--config"));
        var server = new TestRaftServer(
            new KafkaConfig(settings, false),
            Uuid.fromString(options.getProperty("--replica-directory-id")),
            Integer.parseInt(options.getProperty("--throughput")),
            Integer.parseInt(options.getProperty("--record-size")));
        server.startup();
        var manager = server.raftManager();
        long interval = Long.parseLong(options.getProperty("--snapshot-records"));
        manager.client().register(new SnapshottingRaftServer(manager.client(), manager.raftLog(), interval));
        server.awaitShutdown();
    }

    @Override
    public void handleCommit(BatchReader<byte[]> reader) {
        try (reader) {
            while (reader.hasNext()) {
                Batch<byte[]> batch = reader.next();
                if (batch.lastOffset() + 1 >= newestEnd + interval) {
                    write(new OffsetAndEpoch(batch.lastOffset() + 1, batch.epoch()), batch.appendTimestamp());
                }
            }
        }
    }

    private void write(OffsetAndEpoch id, long timestamp) {
        newestEnd = id.offset();
        client.createSnapshot(id, timestamp).ifPresent(writer -> {
            try (writer) {
                for (int at = 0; at < RECORDS_OF_A_SNAPSHOT; at++) {
                    writer.append(List.of(("state " + at).getBytes()));
                }
                writer.freeze();
            }
            log.maybeClean();
            System.out.println("wrote snapshot " + id.offset() + "-" + id.epoch() + ", log start " + log.startOffset());
        });
    }

    @Override
    public void handleLoadSnapshot(SnapshotReader<byte[]> reader) {
        newestEnd = reader.snapshotId().offset();
        System.out.println("loaded snapshot " + reader.snapshotId().offset() + "-" + reader.snapshotId().epoch());
        reader.close();
    }

    @Override
    public void handleLoadBootstrap(SnapshotReader<byte[]> reader) {
        reader.close();
    }
}
