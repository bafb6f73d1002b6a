/*
 * The official Java client as a peer of the benchmarks: takes commands on standard input, answers one JSON line each.
 *
 *   read   SCOPE STREAM THREADS            all events of the stream by BatchClientFactory
 *   write  SCOPE STREAM EVENTS SIZE        EventStreamWriter, events without routing key, one flush at the end
 *   txn    SCOPE STREAM EVENTS SIZE PARTS  one transaction for each of PARTS threads, committed at the end
 *
 * It stays up over all rounds, so that its JIT compiler has warmed up. Times are in seconds and cover the work only.
 */

import io.pravega.client.BatchClientFactory;
import io.pravega.client.ClientConfig;
import io.pravega.client.EventStreamClientFactory;
import io.pravega.client.batch.SegmentIterator;
import io.pravega.client.batch.SegmentRange;
import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamCut;
import io.pravega.client.stream.Transaction;
import io.pravega.client.stream.TransactionalEventStreamWriter;
import io.pravega.client.stream.impl.ByteArraySerializer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

public class JavaPeer {

    private static final ByteArraySerializer BYTES = new ByteArraySerializer();

    public static void main(String[] args) throws Exception {
        ClientConfig config = ClientConfig.builder().controllerURI(URI.create(args[0])).build();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("{\"ready\": true}");
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.trim().split(" ");
            long start = System.nanoTime();
            long[] counts = run(config, words);
            double seconds = (System.nanoTime() - start) / 1e9;
            System.out.printf("{\"events\": %d, \"bytes\": %d, \"seconds\": %.6f}%n", counts[0], counts[1], seconds);
        }
        System.exit(0);
    }

    private static long[] run(ClientConfig config, String[] words) throws Exception {
        switch (words[0]) {
            case "read":
                return read(config, words[1], words[2], Integer.parseInt(words[3]));
            case "write":
                return write(config, words[1], words[2], Integer.parseInt(words[3]), Integer.parseInt(words[4]));
            case "txn":
                return transactions(config, words[1], words[2], Integer.parseInt(words[3]), Integer.parseInt(words[4]),
                        Integer.parseInt(words[5]));
            default:
                throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    private static long[] read(ClientConfig config, String scope, String stream, int threads) throws Exception {
        AtomicLong events = new AtomicLong();
        AtomicLong bytes = new AtomicLong();
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try (BatchClientFactory factory = BatchClientFactory.withScope(scope, config)) {
            List<Future<?>> tasks = new ArrayList<>();
            factory.getSegments(Stream.of(scope, stream), StreamCut.UNBOUNDED, StreamCut.UNBOUNDED).getIterator()
                    .forEachRemaining(range -> tasks.add(pool.submit(() -> readSegment(factory, range, events, bytes))));
            for (Future<?> task : tasks) {
                task.get();
            }
        } finally {
            pool.shutdown();
        }
        return new long[]{events.get(), bytes.get()};
    }

    private static void readSegment(BatchClientFactory factory, SegmentRange range, AtomicLong events, AtomicLong bytes) {
        long count = 0;
        long size = 0;
        try (SegmentIterator<byte[]> iterator = factory.readSegment(range, BYTES)) {
            while (iterator.hasNext()) {
                size += iterator.next().length;
                count++;
            }
        }
        events.addAndGet(count);
        bytes.addAndGet(size);
    }

    private static byte[] payload(int size) {
        byte[] payload = new byte[size];
        new Random().nextBytes(payload);
        return payload;
    }

    private static long[] write(ClientConfig config, String scope, String stream, int events, int size) {
        byte[] payload = payload(size);
        try (EventStreamClientFactory factory = EventStreamClientFactory.withScope(scope, config);
             EventStreamWriter<byte[]> writer =
                     factory.createEventWriter(stream, BYTES, EventWriterConfig.builder().build())) {
            for (int i = 0; i < events; i++) {
                writer.writeEvent(payload);
            }
            writer.flush();
        }
        return new long[]{events, (long) events * size};
    }

    private static long[] transactions(ClientConfig config, String scope, String stream, int events, int size, int parts)
            throws Exception {
        byte[] payload = payload(size);
        ExecutorService pool = Executors.newFixedThreadPool(parts);
        try (EventStreamClientFactory factory = EventStreamClientFactory.withScope(scope, config)) {
            List<Future<Transaction<byte[]>>> tasks = new ArrayList<>();
            List<TransactionalEventStreamWriter<byte[]>> writers = new ArrayList<>();
            for (int part = 0; part < parts; part++) {
                int share = events / parts + (part < events % parts ? 1 : 0);
                TransactionalEventStreamWriter<byte[]> writer = factory.createTransactionalEventWriter(
                        "peer-" + part, stream, BYTES,
                        EventWriterConfig.builder().transactionTimeoutTime(120_000).build());
                writers.add(writer);
                tasks.add(pool.submit(() -> {
                    Transaction<byte[]> transaction = writer.beginTxn();
                    for (int i = 0; i < share; i++) {
                        transaction.writeEvent(payload);
                    }
                    transaction.flush();
                    return transaction;
                }));
            }
            List<Transaction<byte[]>> written = new ArrayList<>();
            for (Future<Transaction<byte[]>> task : tasks) {
                written.add(task.get());
            }
            for (Transaction<byte[]> transaction : written) {
                transaction.commit();
            }
            for (Transaction<byte[]> transaction : written) {
                while (transaction.checkStatus() != Transaction.Status.COMMITTED) {
                    Thread.sleep(5);
                }
            }
            for (TransactionalEventStreamWriter<byte[]> writer : writers) {
                writer.close();
            }
        } finally {
            pool.shutdown();
        }
        return new long[]{events, (long) events * size};
    }
}
