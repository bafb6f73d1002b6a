import io.pravega.client.ClientConfig;
import io.pravega.client.admin.StreamManager;
import io.pravega.client.stream.EventPointer;
import io.pravega.client.stream.impl.EventPointerImpl;
import io.pravega.client.stream.impl.UTF8StringSerializer;
import java.net.URI;

/** Prints the texts of events that the Java client fetches by our pointers, and the pointers as it writes them. */
public class FetchEvent {
    public static void main(String[] arguments) throws Exception {
        ClientConfig config = ClientConfig.builder().controllerURI(URI.create(arguments[0])).build();
        try (StreamManager manager = StreamManager.create(config)) {
            for (int i = 1; i < arguments.length; i++) {
                EventPointer pointer = EventPointerImpl.fromString(arguments[i]);
                System.out.println(manager.fetchEvent(pointer, new UTF8StringSerializer()).get());
                System.out.println(EventPointer.fromBytes(pointer.toBytes()));
            }
        }
        System.exit(0);
    }
}
