import io.pravega.client.ClientConfig;
import io.pravega.client.EventStreamClientFactory;
import io.pravega.client.admin.ReaderGroupManager;
import io.pravega.client.stream.EventStreamReader;
import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.ReaderConfig;
import io.pravega.client.stream.ReaderGroupConfig;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.TimeWindow;
import io.pravega.client.stream.impl.UTF8StringSerializer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.util.UUID;

/** Writes events and notes times with the Java client, or prints the time window that its reader comes to. */
public class JavaTimes {
    public static void main(String[] arguments) throws Exception {
        String scope = arguments[2], name = arguments[3];
        ClientConfig config = ClientConfig.builder().controllerURI(URI.create(arguments[1])).build();
        try (EventStreamClientFactory factory = EventStreamClientFactory.withScope(scope, config)) {
            if (arguments[0].equals("write")) {
                write(factory, name);
            } else {
                read(factory, config, scope, name, Long.parseLong(arguments[4]));
            }
        }
        System.exit(0);
    }

    /** Notes each time of a line that it is given, and stays until there are no more: a note is sent without waiting. */
    private static void write(EventStreamClientFactory factory, String name) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        try (EventStreamWriter<String> writer = factory.createEventWriter(
                name, new UTF8StringSerializer(), EventWriterConfig.builder().build())) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                for (int key = 0; key < 10; key++) {
                    writer.writeEvent(Integer.toString(key), line);
                }
                writer.flush();
                writer.noteTime(Long.parseLong(line));
            }
        }
    }

    private static void read(EventStreamClientFactory factory, ClientConfig config, String scope, String name, long last)
            throws Exception {
        Stream stream = Stream.of(scope, name);
        String group = UUID.randomUUID().toString().replace("-", "");
        try (ReaderGroupManager groups = ReaderGroupManager.withScope(scope, config)) {
            groups.createReaderGroup(group, ReaderGroupConfig.builder().stream(stream).groupRefreshTimeMillis(200).build());
            try (EventStreamReader<String> reader = factory.createReader(
                    "reader", group, new UTF8StringSerializer(), ReaderConfig.builder().build())) {
                for (long end = System.currentTimeMillis() + 600_000; System.currentTimeMillis() < end; ) {
                    reader.readNextEvent(200);
                    TimeWindow window = reader.getCurrentTimeWindow(stream);
                    if (window.getLowerTimeBound() != null && window.getLowerTimeBound() >= last) {
                        System.out.println("window " + window.getLowerTimeBound() + " " + window.getUpperTimeBound());
                        return;
                    }
                }
            }
        }
    }
}
