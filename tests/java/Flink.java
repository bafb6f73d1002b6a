import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.graph.StreamGraph;

/**
 * Flink's job manager, task manager and REST interface in one process, and jobs that read lines from a socket: all of
 * Flink's own classes. `submit NAME PORT` and `cancel NAME`, line by line; the answer is the job's id.
 */
public class Flink {
    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("rest.address", "127.0.0.1");
        settings.setString("rest.bind-address", "127.0.0.1");
        settings.setString("rest.port", arguments[0]);
        settings.setString("rest.bind-port", arguments[0]);
        settings.setString("execution.checkpointing.interval", "500ms");
        settings.setString("execution.checkpointing.dir", "file://" + arguments[1]);
        settings.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        settings.setString("restart-strategy.type", "fixed-delay");
        settings.setString("restart-strategy.fixed-delay.attempts", "1000000");
        settings.setString("restart-strategy.fixed-delay.delay", "2s");
        MiniCluster cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
            .setConfiguration(settings).setNumTaskManagers(1).setNumSlotsPerTaskManager(4).build());
        cluster.start();
        System.out.println("{\"ready\": true}");
        Map<String, JobID> jobs = new HashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("submit")) {
                StreamExecutionEnvironment job = StreamExecutionEnvironment.getExecutionEnvironment(settings);
                job.setParallelism(1);
                job.socketTextStream("127.0.0.1", Integer.parseInt(words[2]), "\n", 0).sinkTo(new DiscardingSink<>());
                StreamGraph named = job.getStreamGraph();
                named.setJobName(words[1]);
                JobGraph graph = named.getJobGraph();
                cluster.submitJob(graph).get();
                jobs.put(words[1], graph.getJobID());
            } else {
                cluster.cancelJob(jobs.get(words[1])).get();
            }
            System.out.println("{\"id\": \"" + jobs.get(words[1]) + "\"}");
        }
        cluster.close();
    }
}
