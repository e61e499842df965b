import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads a topic from its beginning to its end with Kafka's own consumer, by small fetches, and prints a line for each
 * record: offset, timestamp, key and value, the last two in hexadecimal digits or "null". After some records it prints
 * "paused", and waits for a line on standard input. An offset that is out of range ends it with an exception.
 *
 * Arguments: bootstrap servers, topic, records before the pause, isolation level.
 */
public final class PausingConsumer {
    public static void main(String[] arguments) throws Exception {
        var settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("isolation.level", arguments[3]);
        settings.put("auto.offset.reset", "none");
        settings.put("max.poll.records", "10");
        settings.put("fetch.max.bytes", "1000");
        settings.put("max.partition.fetch.bytes", "1000");
        var partition = new TopicPartition(arguments[1], 0);
        long before = Long.parseLong(arguments[2]);
        var deserializer = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<byte[], byte[]>(settings, deserializer, deserializer)) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            read(consumer, partition, before);
            System.out.println("paused");
            System.in.read();
            read(consumer, partition, Long.MAX_VALUE);
        }
    }

    private static void read(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long most) {
        long end = consumer.endOffsets(List.of(partition)).get(partition);
        long count = 0;
        while (count < most && consumer.position(partition) < end) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                System.out.println(
                    record.offset() + " " + record.timestamp() + " " + hex(record.key()) + " " + hex(record.value()));
                count++;
            }
        }
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? "null" : "x" + HexFormat.of().formatHex(bytes);
    }
}
