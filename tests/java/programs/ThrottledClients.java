import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes records of random bytes one after the other with Kafka's own producer, and reads them with Kafka's own consumer.
 * For both it prints a line: how many records, how long it took in milliseconds, and the largest throttle time that the
 * client itself has measured, in milliseconds.
 *
 * Arguments: bootstrap servers, topic, number of records, bytes of each.
 */
public final class ThrottledClients {
    public static void main(String[] arguments) throws Exception {
        int records = Integer.parseInt(arguments[2]);
        var value = new byte[Integer.parseInt(arguments[3])];
        new java.util.Random(1).nextBytes(value);
        var settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("client.id", "throttled");
        var partition = new TopicPartition(arguments[1], 0);

        long first = -1;
        var serializer = new ByteArraySerializer();
        try (var producer = new KafkaProducer<byte[], byte[]>(settings, serializer, serializer)) {
            producer.partitionsFor(arguments[1]);
            long begin = System.nanoTime();
            for (int at = 0; at < records; at++) {
                long offset = producer.send(new ProducerRecord<>(arguments[1], 0, null, value)).get().offset();
                first = at == 0 ? offset : first;
            }
            print(records, begin, producer.metrics(), "produce-throttle-time-max");
        }

        settings.put("max.partition.fetch.bytes", arguments[3]);
        settings.put("fetch.max.bytes", arguments[3]);
        settings.put("auto.offset.reset", "none");
        var deserializer = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<byte[], byte[]>(settings, deserializer, deserializer)) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, first);
            long begin = System.nanoTime();
            int count = 0;
            while (count < records) {
                count += consumer.poll(Duration.ofSeconds(1)).count();
            }
            print(count, begin, consumer.metrics(), "fetch-throttle-time-max");
        }
    }

    private static void print(int records, long begin, Map<MetricName, ? extends Metric> metrics, String name) {
        double throttle = 0;
        for (var metric : metrics.entrySet()) {
            if (metric.getKey().name().equals(name)) {
                throttle = Math.max(throttle, (double) metric.getValue().metricValue());
            }
        }
        System.out.println(records + " " + (System.nanoTime() - begin) / 1_000_000 + " " + Math.round(throttle));
    }
}
