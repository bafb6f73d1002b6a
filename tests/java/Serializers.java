/*
 * The official serializers as a peer: takes one JSON object a line on standard input, answers one each.
 *
 *   {"do": "write", …, "value": TEXT}     the event of a value, in hexadecimal digits
 *   {"do": "read", …, "event": HEX}       the value of an event
 *   {"do": "time", …, "value": TEXT, "events": N}  seconds of the processor for N events, to and fro
 *
 *
 * "…" is: "format" (avro, json, protobuf, custom or any), "group", "type", "schema" (text, or base64 for protobuf), or "class", which
 * is one of those below and gives both, "codec" (none, gzip, snappy, lz4 or reversed), "header" (default true). Values are JSON; those of a custom format are texts. A reader without
 * "schema" reads with the writer's. Failures are answered as {"error": TEXT}.
 */

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableMap;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.util.JsonFormat;
import io.pravega.client.stream.Serializer;
import io.pravega.schemaregistry.client.SchemaRegistryClientConfig;
import io.pravega.schemaregistry.contract.data.CodecType;
import io.pravega.schemaregistry.contract.data.SchemaInfo;
import io.pravega.schemaregistry.contract.data.SerializationFormat;
import io.pravega.schemaregistry.serializer.avro.schemas.AvroSchema;
import io.pravega.schemaregistry.serializer.json.schemas.JSONSchema;
import io.pravega.schemaregistry.serializer.protobuf.schemas.ProtobufSchema;
import io.pravega.schemaregistry.serializer.shared.codec.Codec;
import io.pravega.schemaregistry.serializer.shared.codec.Codecs;
import io.pravega.schemaregistry.serializer.shared.impl.CustomDeserializer;
import io.pravega.schemaregistry.serializer.shared.impl.CustomSerializer;
import io.pravega.schemaregistry.serializer.shared.impl.SerializerConfig;
import io.pravega.schemaregistry.serializer.shared.schemas.Schema;
import io.pravega.schemaregistry.serializers.SerializerFactory;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.math.BigDecimal;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import net.jpountz.lz4.LZ4FrameInputStream;
import net.jpountz.lz4.LZ4FrameOutputStream;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.reflect.Nullable;

public class Serializers {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ThreadMXBean PROCESSOR = ManagementFactory.getThreadMXBean();
    private static final int WARM_UP = 200_000;
    private static URI registry;

    public static void main(String[] args) throws Exception {
        registry = URI.create(args[0]);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("{\"ready\": true}");
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            Map<String, Object> answer = new HashMap<>();
            try {
                run(JSON.readTree(line), answer);
            } catch (Throwable error) {
                answer.put("error", error.toString());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
        System.exit(0);
    }

    @SuppressWarnings("unchecked")
    private static void run(JsonNode command, Map<String, Object> answer) throws Exception {
        switch (command.get("do").asText()) {
            case "write":
                ByteBuffer event = ((Serializer<Object>) serializer(command)).serialize(value(command));
                byte[] bytes = new byte[event.remaining()];
                event.get(bytes);
                answer.put("event", HexFormat.of().formatHex(bytes));
                return;
            case "read":
                Object found = deserializer(command)
                        .deserialize(ByteBuffer.wrap(HexFormat.of().parseHex(command.get("event").asText())));
                answer.put("value", shown(found));
                return;
            case "time":
                time(command, answer);
                return;
            default:
                throw new IllegalArgumentException(command.toString());
        }
    }

    /** After a short round, in which the compiler warms up. */
    @SuppressWarnings("unchecked")
    private static void time(JsonNode command, Map<String, Object> answer) throws Exception {
        Serializer<Object> writes = (Serializer<Object>) serializer(command);
        Serializer<?> reads = deserializer(command);
        Object value = value(command);
        int all = command.get("events").asInt();
        byte[] event = null;
        for (int events : new int[] {Math.min(all, WARM_UP), all}) {
            long start = PROCESSOR.getCurrentThreadCpuTime();
            for (int number = 0; number < events; number++) {
                ByteBuffer made = writes.serialize(value);
                if (event == null) {
                    event = new byte[made.remaining()];
                    made.get(event);
                }
            }
            long between = PROCESSOR.getCurrentThreadCpuTime();
            for (int number = 0; number < events; number++) {
                reads.deserialize(ByteBuffer.wrap(event));
            }
            long end = PROCESSOR.getCurrentThreadCpuTime();
            answer.put("serialize", (between - start) / 1e9);
            answer.put("deserialize", (end - between) / 1e9);
        }
    }

    private static SerializerConfig config(JsonNode command) {
        SerializerConfig.SerializerConfigBuilder builder = SerializerConfig.builder()
                .groupId(command.get("group").asText())
                .namespace("")
                .registryConfig(SchemaRegistryClientConfig.builder().schemaRegistryUri(registry).build())
                .registerSchema(true)
                .registerCodec(true)
                .writeEncodingHeader(command.path("header").asBoolean(true))
                .decoder(Reversed.NAME, new Reversed())
                .decoder(Lz4.NAME, new Lz4());
        switch (command.path("codec").asText("none")) {
            case "gzip":
                return builder.encoder(Codecs.GzipCompressor.getCodec()).build();
            case "snappy":
                return builder.encoder(Codecs.SnappyCompressor.getCodec()).build();
            case "lz4":
                return builder.encoder(new Lz4()).build();
            case "reversed":
                return builder.encoder(new Reversed()).build();
            default:
                return builder.build();
        }
    }

    private static Serializer<?> serializer(JsonNode command) throws Exception {
        SerializerConfig config = config(command);
        switch (command.get("format").asText()) {
            case "avro":
                return SerializerFactory.avroSerializer(
                        config, command.has("class") ? avroClass(command) : AvroSchema.of(avro(command)));
            case "json":
                return command.has("class")
                        ? SerializerFactory.jsonSerializer(config, jsonClass(command))
                        : SerializerFactory.jsonSerializer(config, json(command));
            case "protobuf":
                return SerializerFactory.protobufSerializer(config, ProtobufSchema.of(type(command), descriptors(command)));
            default:
                return SerializerFactory.customSerializer(config, custom(command), new Texts());
        }
    }

    private static Serializer<?> deserializer(JsonNode command) throws Exception {
        SerializerConfig config = config(command);
        boolean own = command.has("schema");
        switch (command.get("format").asText()) {
            case "avro":
                if (command.has("class")) {
                    return SerializerFactory.avroDeserializer(config, avroClass(command));
                }
                return SerializerFactory.avroGenericDeserializer(config, own ? AvroSchema.of(avro(command)) : null);
            case "json":
                if (command.has("class")) {
                    return SerializerFactory.jsonDeserializer(config, jsonClass(command));
                }
                // That of a class does not look at codecs, in the serializers 0.6.0.
                return own && !command.path("header").asBoolean(true)
                        ? SerializerFactory.jsonDeserializer(config, json(command))
                        : SerializerFactory.jsonStringDeserializer(config);
            case "protobuf":
                return SerializerFactory.protobufGenericDeserializer(
                        config, own ? ProtobufSchema.of(type(command), descriptors(command)) : null);
            case "any":
                return SerializerFactory.deserializeAsJsonString(config);
            default:
                return SerializerFactory.customDeserializer(config, custom(command), new Texts());
        }
    }

    private static Object value(JsonNode command) throws Exception {
        String text = command.get("value").asText();
        if (command.has("class")) {
            return JSON.readValue(text, named(command));
        }
        switch (command.get("format").asText()) {
            case "avro":
                org.apache.avro.Schema schema = avro(command);
                return new GenericDatumReader<>(schema).read(null, DecoderFactory.get().jsonDecoder(schema, text));
            case "json":
                return JSON.readTree(text);
            case "protobuf":
                FileDescriptor file = FileDescriptor.buildFrom(descriptors(command).getFile(0), new FileDescriptor[0]);
                String name = type(command);
                DynamicMessage.Builder message =
                        DynamicMessage.newBuilder(file.findMessageTypeByName(name.substring(name.lastIndexOf('.') + 1)));
                JsonFormat.parser().merge(text, message);
                return message.build();
            default:
                return text;
        }
    }

    private static String shown(Object value) throws Exception {
        if (value.getClass().getEnclosingClass() == Serializers.class) {
            return JSON.writeValueAsString(value);
        }
        return value instanceof DynamicMessage
                ? JsonFormat.printer().preservingProtoFieldNames().omittingInsignificantWhitespace().print((DynamicMessage) value)
                : value.toString();
    }

    private static String type(JsonNode command) {
        return command.get("type").asText();
    }

    @SuppressWarnings("unchecked")
    private static Class<Object> named(JsonNode command) throws ClassNotFoundException {
        return (Class<Object>) Class.forName("Serializers$" + command.get("class").asText());
    }

    private static AvroSchema<Object> avroClass(JsonNode command) throws ClassNotFoundException {
        return AvroSchema.of(named(command));
    }

    private static JSONSchema<Object> jsonClass(JsonNode command) throws ClassNotFoundException {
        return JSONSchema.of(named(command));
    }

    private static org.apache.avro.Schema avro(JsonNode command) {
        return new org.apache.avro.Schema.Parser().parse(command.get("schema").asText());
    }

    private static JSONSchema<JsonNode> json(JsonNode command) {
        return JSONSchema.of(type(command), command.get("schema").asText(), JsonNode.class);
    }

    private static FileDescriptorSet descriptors(JsonNode command) throws IOException {
        return FileDescriptorSet.parseFrom(Base64.getDecoder().decode(command.get("schema").asText()));
    }

    private static Schema<String> custom(JsonNode command) {
        ByteBuffer data = ByteBuffer.wrap(command.get("schema").asText().getBytes(StandardCharsets.UTF_8));
        SerializationFormat format = SerializationFormat.custom("texts");
        SchemaInfo info = new SchemaInfo(type(command), format, data, ImmutableMap.of());
        return new Schema<>() {
            @Override
            public SchemaInfo getSchemaInfo() {
                return info;
            }

            @Override
            public Class<String> getTClass() {
                return String.class;
            }
        };
    }

    // Classes as applications have them; Java's serializers make their schemas.

    public enum Size {
        SMALL,
        LARGE
    }

    public static class Address {
        public String city;
        public List<String> tags;
    }

    public static class Box<T> {
        public T inside;
        public List<T> more;
    }

    public static class AddressBox extends Box<Address> {}

    /** Names that look like keywords, a class that is used several times, and one with its parameter given. */
    public static class Order {
        public long id;

        @JsonProperty("$id")
        public String mark;

        @JsonProperty("$ref")
        public String link;

        @JsonProperty("required")
        public Boolean needed;

        public Address from;
        public Address to;
        public List<Address> stops;
        public Address[] ways;
        public AddressBox box;
        public Size size;
        public int[][] grid;
        public Set<Size> sizes;
        public double ratio;
        public UUID uuid;
        public Date when;
        public BigDecimal price;
    }

    public static class Stock {
        public String id;
        public Map<String, Integer> counts;
        public Map<String, Address> homes;
        public Size size;
        public Address home;
        public List<Address> stops;

        @Nullable
        public String note;

        @Nullable
        public Address spare;
    }

    public static class Tree {
        public String name;
        public List<Tree> children;
    }

    public static class Photo {
        public byte[] pixels;
    }

    public static class Needed {
        @JsonProperty(required = true)
        public long id;
    }

    public static class Generic {
        public Box<String> box;
    }

    public static class Maybe {
        public Optional<String> note;
    }

    /** A format of the tests' own: UTF-8. */
    private static final class Texts implements CustomSerializer<String>, CustomDeserializer<String> {
        @Override
        public void serialize(String value, SchemaInfo schema, OutputStream out) {
            try {
                out.write(value.getBytes(StandardCharsets.UTF_8));
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        public String deserialize(InputStream in, SchemaInfo written, SchemaInfo read) {
            try {
                return new String(in.readAllBytes(), StandardCharsets.UTF_8).replaceAll("\0+$", "");
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    /** The codec that an application has to bring: frames of LZ4. */
    private static final class Lz4 implements Codec {
        private static final String NAME = "application/x-lz4";

        @Override
        public String getName() {
            return NAME;
        }

        @Override
        public CodecType getCodecType() {
            return new CodecType(NAME);
        }

        @Override
        public void encode(ByteBuffer data, OutputStream out) throws IOException {
            byte[] bytes = new byte[data.remaining()];
            data.get(bytes);
            LZ4FrameOutputStream frame = new LZ4FrameOutputStream(out);
            frame.write(bytes);
            frame.close();
        }

        @Override
        public ByteBuffer decode(ByteBuffer data, Map<String, String> properties) throws IOException {
            byte[] bytes = new byte[data.remaining()];
            data.get(bytes);
            return ByteBuffer.wrap(new LZ4FrameInputStream(new ByteArrayInputStream(bytes)).readAllBytes());
        }
    }

    /** A codec of the tests' own: all bytes in reverse. */
    private static final class Reversed implements Codec {
        private static final String NAME = "application/x-reversed";

        @Override
        public String getName() {
            return NAME;
        }

        @Override
        public CodecType getCodecType() {
            return new CodecType(NAME);
        }

        @Override
        public void encode(ByteBuffer data, OutputStream out) throws IOException {
            out.write(reversed(data));
        }

        @Override
        public ByteBuffer decode(ByteBuffer data, Map<String, String> properties) {
            return ByteBuffer.wrap(reversed(data));
        }

        private static byte[] reversed(ByteBuffer data) {
            byte[] bytes = new byte[data.remaining()];
            for (int place = bytes.length - 1; place >= 0; place--) {
                bytes[place] = data.get();
            }
            return bytes;
        }
    }
}
