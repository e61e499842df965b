import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Reads and writes values of metadata records as a controller does. For each value in a file, in hexadecimal digits, it
 * prints a line: "read", type, version, the value as it writes it again, its fields as JSON. Then it prints such a line,
 * which begins with "default", for each type in each version: a message whose fields have their defaults. A line before
 * it has this message as text, which names the fields with defaults too: "shown", type, version, text.
 *
 * Arguments: the file.
 */
public final class MetadataRecords {
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();

    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            byte[] value = HexFormat.of().parseHex(line);
            var buffer = java.nio.ByteBuffer.wrap(value);
            print("read", SERDE.read(new ByteBufferAccessor(buffer), value.length));
        }
        for (MetadataRecordType type : MetadataRecordType.values()) {
            for (int version = type.lowestSupportedVersion(); version <= type.highestSupportedVersion(); version++) {
                var record = new ApiMessageAndVersion(type.newMetadataRecord(), (short) version);
                System.out.println("shown " + type.id() + " " + version + " " + record.message());
                print("default", record);
            }
        }
    }

    private static void print(String what, ApiMessageAndVersion record) {
        var cache = new ObjectSerializationCache();
        var buffer = java.nio.ByteBuffer.allocate(SERDE.recordSize(record, cache));
        SERDE.write(record, cache, new ByteBufferAccessor(buffer));
        System.out.println(what + " " + record.message().apiKey() + " " + record.version() + " "
            + HexFormat.of().formatHex(buffer.array()) + " "
            + MetadataJsonConverters.writeJson(record.message(), record.version()));
    }
}
