/*
 * The official client as a peer: takes one JSON object a line on standard input, answers one each.
 *
 *   {"do": "write", "scope", "stream", "large": BOOL, "events": [{"key", "file"}]}   events, each the bytes of a file
 *   {"do": "write_together", …}                              the same by one call of writeEvents, under the first key
 *   {"do": "write_in_transaction", …}                        the same in a transaction, which is committed
 *   {"do": "leave_transaction", …, "end": "abort" or "open"}  the same, but the transaction is not committed
 *   {"do": "write_bytes", "scope", "stream", "file"}         the bytes of a file by a byte stream writer
 *   {"do": "read", "scope", "stream"}                        all events by the batch client: [{"size", "sha256"}];
 *                                                            with "start" and "end", texts of cuts, those between them
 *   {"do": "create_stream", "scope", "stream", "segments", "tags": [TEXT]}, {"do": "tagged", "scope", "tag"}
 *   {"do": "cuts", "scope", "stream"}                        head and tail as texts
 *   {"do": "create_group", "scope", "group", "stream"}       a reader group that retention waits for
 *   {"do": "fetch", "pointer": TEXT}                         one event by its pointer
 *   {"do": "create_table", "scope", "table", "partitions", "primary", "secondary"}   a key-value table, and key lengths
 *   {"do": "list_tables", "scope"}, {"do": "delete_table", "scope", "table"}
 *   {"do": "put", "scope", "table", "entries": [{"primary", "secondary", "value"}]}  all in hexadecimal digits
 *   {"do": "get", "scope", "table", "keys": [{"primary", "secondary"}]}              the values, or null
 *   {"do": "entries", "scope", "table"}                      all: [{"primary", "secondary", "value"}]
 *
 * Failures are answered as {"error": TEXT}.
 */

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pravega.client.BatchClientFactory;
import io.pravega.client.ByteStreamClientFactory;
import io.pravega.client.ClientConfig;
import io.pravega.client.EventStreamClientFactory;
import io.pravega.client.KeyValueTableFactory;
import io.pravega.client.admin.KeyValueTableInfo;
import io.pravega.client.admin.KeyValueTableManager;
import io.pravega.client.admin.ReaderGroupManager;
import io.pravega.client.admin.StreamInfo;
import io.pravega.client.admin.StreamManager;
import io.pravega.client.batch.SegmentIterator;
import io.pravega.client.batch.SegmentRange;
import io.pravega.client.byteStream.ByteStreamWriter;
import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.ReaderGroupConfig;
import io.pravega.client.stream.ScalingPolicy;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamConfiguration;
import io.pravega.client.stream.StreamCut;
import io.pravega.client.stream.Transaction;
import io.pravega.client.stream.TransactionalEventStreamWriter;
import io.pravega.client.stream.impl.ByteBufferSerializer;
import io.pravega.client.stream.impl.EventPointerImpl;
import io.pravega.client.tables.IteratorItem;
import io.pravega.client.tables.KeyValueTable;
import io.pravega.client.tables.KeyValueTableClientConfiguration;
import io.pravega.client.tables.KeyValueTableConfiguration;
import io.pravega.client.tables.Put;
import io.pravega.client.tables.TableEntry;
import io.pravega.client.tables.TableKey;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

public class Client {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static ClientConfig config;

    public static void main(String[] args) throws Exception {
        config = ClientConfig.builder().controllerURI(URI.create(args[0])).build();
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

    private static void run(JsonNode command, Map<String, Object> answer) throws Exception {
        switch (command.get("do").asText()) {
            case "write":
                write(command);
                break;
            case "write_together":
                writeTogether(command);
                break;
            case "write_in_transaction":
                writeInTransaction(command);
                break;
            case "leave_transaction":
                leaveTransaction(command);
                break;
            case "write_bytes":
                try (ByteStreamClientFactory factory = ByteStreamClientFactory.withScope(text(command, "scope"), config);
                        ByteStreamWriter writer = factory.createByteStreamWriter(text(command, "stream"))) {
                    writer.write(Files.readAllBytes(Path.of(text(command, "file"))));
                    writer.flush();
                }
                break;
            case "read":
                answer.put("events", read(command));
                break;
            case "create_stream":
            case "tagged":
            case "cuts":
                manageStreams(command, answer);
                break;
            case "create_group":
                try (ReaderGroupManager groups = ReaderGroupManager.withScope(text(command, "scope"), config)) {
                    answer.put("done", groups.createReaderGroup(text(command, "group"), ReaderGroupConfig.builder()
                            .stream(Stream.of(text(command, "scope"), text(command, "stream")))
                            .retentionType(ReaderGroupConfig.StreamDataRetention.AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT)
                            .build()));
                }
                break;
            case "fetch":
                try (StreamManager manager = StreamManager.create(config)) {
                    answer.putAll(describe(manager.fetchEvent(
                            EventPointerImpl.fromString(text(command, "pointer")), new ByteBufferSerializer()).get()));
                }
                break;
            case "create_table":
            case "list_tables":
            case "delete_table":
                manageTables(command, answer);
                break;
            case "put":
            case "get":
            case "entries":
                useTable(command, answer);
                break;
            default:
                throw new IllegalArgumentException("unknown command");
        }
    }

    private static void manageTables(JsonNode command, Map<String, Object> answer) throws Exception {
        String scope = text(command, "scope");
        try (KeyValueTableManager manager = KeyValueTableManager.create(config)) {
            if (text(command, "do").equals("list_tables")) {
                List<String> names = new ArrayList<>();
                manager.listKeyValueTables(scope).forEachRemaining((KeyValueTableInfo table) ->
                        names.add(table.getKeyValueTableName()));
                answer.put("tables", names);
            } else if (text(command, "do").equals("delete_table")) {
                answer.put("done", manager.deleteKeyValueTable(scope, text(command, "table")));
            } else {
                answer.put("done", manager.createKeyValueTable(scope, text(command, "table"),
                        KeyValueTableConfiguration.builder()
                                .partitionCount(command.get("partitions").asInt())
                                .primaryKeyLength(command.get("primary").asInt())
                                .secondaryKeyLength(command.get("secondary").asInt())
                                .build()));
            }
        }
    }

    private static void useTable(JsonNode command, Map<String, Object> answer) throws Exception {
        try (KeyValueTableFactory factory = KeyValueTableFactory.withScope(text(command, "scope"), config);
                KeyValueTable table = factory.forKeyValueTable(
                        text(command, "table"), KeyValueTableClientConfiguration.builder().build())) {
            if (text(command, "do").equals("put")) {
                for (JsonNode entry : command.get("entries")) {
                    table.update(new Put(key(entry), bytes(entry, "value"))).get(60, TimeUnit.SECONDS);
                }
            } else if (text(command, "do").equals("get")) {
                List<String> values = new ArrayList<>();
                for (JsonNode key : command.get("keys")) {
                    TableEntry found = table.get(key(key)).get(60, TimeUnit.SECONDS);
                    values.add(found == null ? null : hex(found.getValue()));
                }
                answer.put("values", values);
            } else {
                List<Map<String, String>> found = new ArrayList<>();
                table.iterator().maxIterationSize(100).all().entries().asIterator().forEachRemaining(
                        (IteratorItem<TableEntry> page) -> page.getItems().forEach(entry -> found.add(Map.of(
                                "primary", hex(entry.getKey().getPrimaryKey()),
                                "secondary", hex(entry.getKey().getSecondaryKey()),
                                "value", hex(entry.getValue())))));
                answer.put("entries", found);
            }
        }
    }

    private static TableKey key(JsonNode key) {
        ByteBuffer secondary = bytes(key, "secondary");
        return secondary.hasRemaining() ? new TableKey(bytes(key, "primary"), secondary)
                : new TableKey(bytes(key, "primary"));
    }

    private static ByteBuffer bytes(JsonNode node, String name) {
        return ByteBuffer.wrap(HexFormat.of().parseHex(text(node, name)));
    }

    private static String hex(ByteBuffer bytes) {
        if (bytes == null) {
            return "";
        }
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return HexFormat.of().formatHex(copy);
    }

    private static EventWriterConfig writing(JsonNode command) {
        return EventWriterConfig.builder().enableLargeEvents(command.path("large").asBoolean()).build();
    }

    private static void write(JsonNode command) throws Exception {
        try (EventStreamClientFactory factory = EventStreamClientFactory.withScope(text(command, "scope"), config);
                EventStreamWriter<ByteBuffer> writer = factory.createEventWriter(
                        text(command, "stream"), new ByteBufferSerializer(), writing(command))) {
            for (JsonNode event : command.get("events")) {
                // The flush of a writer does not wait for long events, and does not raise their errors.
                writer.writeEvent(text(event, "key"), content(event)).get(300, TimeUnit.SECONDS);
            }
        }
    }

    private static void writeTogether(JsonNode command) throws Exception {
        try (EventStreamClientFactory factory = EventStreamClientFactory.withScope(text(command, "scope"), config);
                EventStreamWriter<ByteBuffer> writer = factory.createEventWriter(
                        text(command, "stream"), new ByteBufferSerializer(), writing(command))) {
            List<ByteBuffer> events = new ArrayList<>();
            for (JsonNode event : command.get("events")) {
                events.add(content(event));
            }
            writer.writeEvents(text(command.get("events").get(0), "key"), events).get(300, TimeUnit.SECONDS);
        }
    }

    private static void writeInTransaction(JsonNode command) throws Exception {
        try (EventStreamClientFactory factory = EventStreamClientFactory.withScope(text(command, "scope"), config);
                TransactionalEventStreamWriter<ByteBuffer> writer = factory.createTransactionalEventWriter(
                        text(command, "stream"), new ByteBufferSerializer(), writing(command))) {
            Transaction<ByteBuffer> transaction = writer.beginTxn();
            try {
                for (JsonNode event : command.get("events")) {
                    transaction.writeEvent(text(event, "key"), content(event));
                }
                transaction.commit();
            } catch (Throwable failure) {
                transaction.abort();
                throw failure;
            }
        }
    }

    private static void leaveTransaction(JsonNode command) throws Exception {
        EventStreamClientFactory factory = EventStreamClientFactory.withScope(text(command, "scope"), config);
        TransactionalEventStreamWriter<ByteBuffer> writer = factory.createTransactionalEventWriter(
                text(command, "stream"), new ByteBufferSerializer(), writing(command));
        Transaction<ByteBuffer> transaction = writer.beginTxn();
        for (JsonNode event : command.get("events")) {
            transaction.writeEvent(text(event, "key"), content(event));
        }
        transaction.flush();
        if (text(command, "end").equals("abort")) {
            transaction.abort();
        }
    }

    private static void manageStreams(JsonNode command, Map<String, Object> answer) throws Exception {
        String scope = text(command, "scope");
        try (StreamManager manager = StreamManager.create(config)) {
            if (text(command, "do").equals("create_stream")) {
                StreamConfiguration.StreamConfigurationBuilder made = StreamConfiguration.builder()
                        .scalingPolicy(ScalingPolicy.fixed(command.get("segments").asInt()));
                for (JsonNode tag : command.get("tags")) {
                    made.tag(tag.asText());
                }
                answer.put("done", manager.createStream(scope, text(command, "stream"), made.build()));
            } else if (text(command, "do").equals("tagged")) {
                List<String> names = new ArrayList<>();
                manager.listStreams(scope, text(command, "tag")).forEachRemaining(one -> names.add(one.getStreamName()));
                answer.put("streams", names);
            } else {
                StreamInfo info = manager.fetchStreamInfo(scope, text(command, "stream")).get(60, TimeUnit.SECONDS);
                answer.put("head", info.getHeadStreamCut().asText());
                answer.put("tail", info.getTailStreamCut().asText());
            }
        }
    }

    private static StreamCut cut(JsonNode command, String name) {
        return command.has(name) ? StreamCut.from(text(command, name)) : StreamCut.UNBOUNDED;
    }

    private static List<Map<String, Object>> read(JsonNode command) throws Exception {
        String scope = text(command, "scope");
        List<Map<String, Object>> found = new ArrayList<>();
        try (BatchClientFactory batch = BatchClientFactory.withScope(scope, config)) {
            List<SegmentRange> ranges = new ArrayList<>();
            batch.getSegments(Stream.of(scope, text(command, "stream")), cut(command, "start"), cut(command, "end"))
                    .getIterator().forEachRemaining(ranges::add);
            for (SegmentRange range : ranges) {
                try (SegmentIterator<ByteBuffer> events = batch.readSegment(range, new ByteBufferSerializer())) {
                    while (events.hasNext()) {
                        found.add(describe(events.next()));
                    }
                }
            }
        }
        return found;
    }

    private static Map<String, Object> describe(ByteBuffer event) throws Exception {
        int size = event.remaining();
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        digest.update(event);
        return Map.of("size", size, "sha256", HexFormat.of().formatHex(digest.digest()));
    }

    private static ByteBuffer content(JsonNode event) throws Exception {
        return ByteBuffer.wrap(Files.readAllBytes(Path.of(text(event, "file"))));
    }

    private static String text(JsonNode node, String name) {
        return node.get(name).asText();
    }
}
