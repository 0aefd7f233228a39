package dev.howdah.pg.bench;

import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The results, as one array of objects and as a table. */
final class Report {
  private final List<Map<String, Object>> entries = new ArrayList<>();
  private final Map<String, Object> run = new LinkedHashMap<>();
  private final Map<String, Object> settings;

  Report(Map<String, Object> settings) {
    this.settings = settings;
    run.put("time", Instant.now().toString());
    run.put("commit", System.getProperty("howdah.commit", "unknown"));
    run.put("machine", Runtime.getRuntime().availableProcessors() + " cores, JDK " + Runtime.version());
  }

  void add(String testCase, String system, String metric, double median, double min, double max, int runs) {
    Map<String, Object> entry = new LinkedHashMap<>();
    entry.put("case", testCase);
    entry.put("system", system);
    entry.put("metric", metric);
    entry.put("median", rounded(median));
    entry.put("min", rounded(min));
    entry.put("max", rounded(max));
    entry.put("runs", runs);
    entry.put("settings", settings);
    entry.put("run", run);
    entries.add(entry);
  }

  private static double rounded(double value) {
    return Math.round(value * 1000) / 1000.0;
  }

  void write(Path file) throws IOException {
    Files.createDirectories(file.toAbsolutePath().getParent());
    Pgjdbc.JACKSON.copy().enable(SerializationFeature.INDENT_OUTPUT).writeValue(file.toFile(), entries);
  }

  void print() {
    for (Map<String, Object> entry : entries) {
      System.out.printf("%-14s %-14s %-26s %10.2f%n", entry.get("case"), entry.get("system"), entry.get("metric"), entry.get("median"));
    }
  }
}
