package dev.howdah.pg.bench;

import java.util.LinkedHashMap;
import java.util.Map;

/** Prints the figures, a line of JSON for each. */
final class Report {
  private Report() {}

  /** The values of all runs of one metric, in their order. */
  static void add(String testCase, String system, String metric, double... values)
      throws java.io.IOException {
    Map<String, Object> entry = new LinkedHashMap<>();
    entry.put("case", testCase);
    entry.put("system", system);
    entry.put("metric", metric);
    entry.put("values", values);
    System.out.println(Pgjdbc.JACKSON.writeValueAsString(entry));
    System.out.flush();
  }
}
