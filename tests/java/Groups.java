/*
 * Reader groups of the official client: takes one JSON object a line on standard input, answers one each.
 *
 *   {"do": "create", "scope", "group", "streams": {STREAM: [START, END]}, "automatic": MILLISECONDS, "retention"}
 *       cuts are texts; no automatic checkpoints with -1
 *   {"do": "open", "scope", "group", "reader"}, {"do": "close", "reader"}
 *   {"do": "read", "reader", "events": LIMIT, "seconds": LIMIT}
 *       [{"event": TEXT} or {"checkpoint": NAME}], until one of the limits; "reset": true if the group was reset
 *   {"do": "look", "scope", "group"}                    what Java says about the group: "unread", "cuts", "readers"
 *   {"do": "begin_checkpoint", "scope", "group", "name"}
 *   {"do": "end_checkpoint", "name"}                     its "bytes" as hexadecimal digits, and "cuts"
 *   {"do": "compact", "scope", "group"}                  what readers do with a long state: write it anew, and mark it
 *   {"do": "retain", "scope", "group", "stream", "cut": TEXT}    nothing before the cut is needed any more
 *   {"do": "bytes", "cut": TEXT}                         a cut as "bytes"
 *   {"do": "from_bytes", "bytes", "checkpoint": BOOL}    the text of a cut, or the cuts of a checkpoint
 *   {"do": "reset", "scope", "group"}, {"do": "delete", "scope", "group"}
 *
 * Failures are answered as {"error": TEXT}.
 */

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pravega.client.ClientConfig;
import io.pravega.client.EventStreamClientFactory;
import io.pravega.client.admin.ReaderGroupManager;
import io.pravega.client.state.InitialUpdate;
import io.pravega.client.stream.Checkpoint;
import io.pravega.client.stream.EventRead;
import io.pravega.client.stream.EventStreamReader;
import io.pravega.client.stream.ReaderConfig;
import io.pravega.client.stream.ReaderGroup;
import io.pravega.client.stream.ReaderGroupConfig;
import io.pravega.client.stream.ReinitializationRequiredException;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamCut;
import io.pravega.client.stream.impl.ReaderGroupImpl;
import io.pravega.client.stream.impl.ReaderGroupState;
import io.pravega.client.stream.impl.UTF8StringSerializer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

public class Groups {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, ReaderGroupManager> managers = new HashMap<>();
    private static final Map<String, ReaderGroup> groups = new HashMap<>();
    private static final Map<String, EventStreamReader<String>> readers = new HashMap<>();
    private static final Map<String, CompletableFuture<Checkpoint>> checkpoints = new HashMap<>();
    // The client's own threads would wait for themselves.
    private static final ScheduledExecutorService executor = Executors.newScheduledThreadPool(2);
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
        switch (text(command, "do")) {
            case "create":
                create(command, answer);
                break;
            case "open":
                readers.put(text(command, "reader"), EventStreamClientFactory.withScope(text(command, "scope"), config)
                        .createReader(text(command, "reader"), text(command, "group"), new UTF8StringSerializer(),
                                ReaderConfig.builder().build()));
                break;
            case "close":
                readers.remove(text(command, "reader")).close();
                break;
            case "read":
                read(command, answer);
                break;
            case "look":
                answer.put("unread", group(command).getMetrics().unreadBytes());
                answer.put("cuts", texts(group(command).getStreamCuts()));
                answer.put("readers", group(command).getOnlineReaders());
                break;
            case "begin_checkpoint":
                checkpoints.put(text(command, "name"),
                        group(command).initiateCheckpoint(text(command, "name"), executor));
                break;
            case "end_checkpoint":
                describe(checkpoints.get(text(command, "name")).get(60, TimeUnit.SECONDS), answer);
                break;
            case "compact":
                compact((ReaderGroupImpl) group(command));
                break;
            case "retain":
                group(command).updateRetentionStreamCut(Map.of(
                        Stream.of(text(command, "scope"), text(command, "stream")), StreamCut.from(text(command, "cut"))));
                break;
            case "bytes":
                answer.put("bytes", hexadecimal(StreamCut.from(text(command, "cut")).toBytes()));
                break;
            case "from_bytes":
                ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(text(command, "bytes")));
                if (command.get("checkpoint").asBoolean()) {
                    describe(Checkpoint.fromBytes(bytes), answer);
                } else {
                    answer.put("cut", StreamCut.fromBytes(bytes).asText());
                }
                break;
            case "reset":
                group(command).resetReaderGroup();
                break;
            case "delete":
                manager(command).deleteReaderGroup(text(command, "group"));
                break;
            default:
                throw new IllegalArgumentException("unknown command");
        }
    }

    private static void create(JsonNode command, Map<String, Object> answer) {
        ReaderGroupConfig.ReaderGroupConfigBuilder made = ReaderGroupConfig.builder()
                .groupRefreshTimeMillis(200)
                .retentionType(ReaderGroupConfig.StreamDataRetention.valueOf(text(command, "retention")));
        command.get("streams").fields().forEachRemaining(entry -> made.stream(
                Stream.of(text(command, "scope"), entry.getKey()), StreamCut.from(entry.getValue().get(0).asText()),
                StreamCut.from(entry.getValue().get(1).asText())));
        long automatic = command.get("automatic").asLong();
        if (automatic > 0) {
            made.automaticCheckpointIntervalMillis(automatic);
        } else {
            made.disableAutomaticCheckpoints();
        }
        answer.put("done", manager(command).createReaderGroup(text(command, "group"), made.build()));
    }

    private static void read(JsonNode command, Map<String, Object> answer) {
        List<Map<String, String>> found = new ArrayList<>();
        long end = System.nanoTime() + (long) (command.get("seconds").asDouble() * 1e9);
        int limit = command.get("events").asInt();
        int events = 0;
        EventStreamReader<String> reader = readers.get(text(command, "reader"));
        answer.put("read", found);
        try {
            while (events < limit && System.nanoTime() < end) {
                EventRead<String> next = reader.readNextEvent(100);
                if (next.isCheckpoint()) {
                    found.add(Map.of("checkpoint", next.getCheckpointName()));
                } else if (next.getEvent() != null) {
                    found.add(Map.of("event", next.getEvent()));
                    events++;
                }
            }
        } catch (ReinitializationRequiredException error) {
            answer.put("reset", true);
        }
    }

    @SuppressWarnings("unchecked")
    private static void compact(ReaderGroupImpl group) throws Exception {
        Constructor<?> whole = Class.forName(ReaderGroupState.class.getName() + "$CompactReaderGroupState")
                .getDeclaredConstructor(ReaderGroupState.class);
        whole.setAccessible(true);
        group.getSynchronizer().fetchUpdates();
        group.getSynchronizer().compact(state -> {
            try {
                return (InitialUpdate<ReaderGroupState>) whole.newInstance(state);
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        });
    }

    private static void describe(Checkpoint checkpoint, Map<String, Object> answer) {
        answer.put("bytes", hexadecimal(checkpoint.toBytes()));
        answer.put("name", checkpoint.getName());
        answer.put("cuts", texts(checkpoint.asImpl().getPositions()));
    }

    private static Map<String, String> texts(Map<Stream, StreamCut> cuts) {
        Map<String, String> found = new HashMap<>();
        cuts.forEach((stream, cut) -> found.put(stream.getScopedName(), cut.asText()));
        return found;
    }

    private static String hexadecimal(ByteBuffer bytes) {
        byte[] found = new byte[bytes.remaining()];
        bytes.duplicate().get(found);
        return HexFormat.of().formatHex(found);
    }

    private static ReaderGroupManager manager(JsonNode command) {
        return managers.computeIfAbsent(text(command, "scope"), scope -> ReaderGroupManager.withScope(scope, config));
    }

    private static ReaderGroup group(JsonNode command) {
        return groups.computeIfAbsent(text(command, "scope") + "/" + text(command, "group"),
                name -> manager(command).getReaderGroup(text(command, "group")));
    }

    private static String text(JsonNode node, String name) {
        return node.get(name).asText();
    }
}
