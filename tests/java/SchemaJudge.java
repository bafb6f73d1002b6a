/*
 * Avro's own check of compatibility as a judge: takes one JSON object a line on standard input, answers one each.
 *
 *   {"reader": TEXT, "writer": TEXT}   {"compatible": true or false, "problem": TEXT}
 *
 * A schema that Avro does not parse is answered as {"refused": "reader" or "writer", "problem": TEXT}; a check that fails as
 * {"compatible": false, "problem": TEXT}.
 */

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;

public class SchemaJudge {

    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader pairs = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("{\"ready\": true}");
        for (String line = pairs.readLine(); line != null; line = pairs.readLine()) {
            Map<String, Object> answer = new HashMap<>();
            judge(JSON.readTree(line), answer);
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private static void judge(JsonNode pair, Map<String, Object> answer) {
        Map<String, Schema> schemas = new HashMap<>();
        for (String side : new String[] {"reader", "writer"}) {
            try {
                schemas.put(side, new Schema.Parser().parse(pair.get(side).asText()));
            } catch (RuntimeException error) {
                answer.put("refused", side);
                answer.put("problem", error.toString());
                return;
            }
        }
        try {
            SchemaCompatibility.SchemaPairCompatibility found =
                SchemaCompatibility.checkReaderWriterCompatibility(schemas.get("reader"), schemas.get("writer"));
            answer.put("compatible", found.getType() == SchemaCompatibility.SchemaCompatibilityType.COMPATIBLE);
            answer.put("problem", found.getResult().getIncompatibilities().toString());
        } catch (RuntimeException | StackOverflowError error) {
            answer.put("compatible", false);
            answer.put("problem", error.toString());
        }
    }
}
