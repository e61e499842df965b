import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes transactions with Kafka's own producer, and prints "committed", "aborted" or the exception of each.
 *
 * Arguments: bootstrap servers, topic, transactional id, then "commit:value,value" or "abort:value,value" for each.
 */
public final class Transactions {
    public static void main(String[] arguments) {
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0], "transactional.id", arguments[2]);
        var serializer = new ByteArraySerializer();
        try (var producer = new KafkaProducer<>(settings, serializer, serializer)) {
            producer.initTransactions();
            for (int at = 3; at < arguments.length; at++) {
                String[] parts = arguments[at].split(":");
                producer.beginTransaction();
                for (String value : parts[1].split(",")) {
                    producer.send(new ProducerRecord<>(arguments[1], value.getBytes(StandardCharsets.UTF_8)));
                }
                if (parts[0].equals("commit")) {
                    producer.commitTransaction();
                    System.out.println("committed");
                } else {
                    producer.flush();
                    producer.abortTransaction();
                    System.out.println("aborted");
                }
            }
        }
    }
}
