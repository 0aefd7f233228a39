package dev.howdah.pg.bench;

import dev.howdah.pg.Config;
import dev.howdah.pg.PrivateServer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs the client cases against a private server: every way of every system in turn, round after round.
 *
 * <p>CASES=t1,t5 runs a part; RUNS=20, WARM=8 and SECONDS_PER_LOAD=5 say how often and how long; OUT names the file.
 */
public final class Main {
  private Main() {}

  private static String setting(String name, String standard) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? standard : value;
  }

  /** The program. */
  public static void main(String[] arguments) throws Exception {
    int runs = Integer.parseInt(setting("RUNS", "20"));
    int seconds = Integer.parseInt(setting("SECONDS_PER_LOAD", "5"));
    List<String> cases = List.of(setting("CASES", "t1,t2,t3,t4,t5,t6").split(","));
    PrivateServer server = PrivateServer.shared();
    Config config = server.config().build();
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("rows", Queries.ROWS);
    settings.put("runs", runs);
    settings.put("seconds", seconds);
    Report report = new Report(settings);
    try (Howdah howdah = new Howdah(config); Pgjdbc pgjdbc = new Pgjdbc(server.jdbcUrl()); JavaJdbc javaJdbc = new JavaJdbc(server.jdbcUrl())) {
      for (Map.Entry<String, String> query : Queries.byCase().entrySet()) {
        if (cases.contains(query.getKey())) {
          measure(report, query.getKey(), query.getValue(), List.of(howdah, pgjdbc, javaJdbc), runs);
          long before = howdah.writes();
          howdah.ways("t1", query.getValue()).get("untouched").run();
          double writes = howdah.writes() - before;
          System.out.println("done: " + query.getKey());
          report.add(query.getKey() + "_untouched", "howdah", "write_calls_per_query", writes, writes, writes, 1);
        }
      }
    }
    if (cases.contains("t6")) {
      if (Http.canRun()) {
        Http.run(report, config, server.jdbcUrl(), seconds, 3);
      } else {
        System.out.println("t6 is left out: there is no wrk on this machine");
      }
    }
    report.write(Path.of(setting("OUT", "client.json")));
    report.print();
  }

  private static void measure(Report report, String testCase, String sql, List<Contender> contenders, int runs) throws Exception {
    List<Measure> measures = new ArrayList<>();
    for (Contender contender : contenders) {
      contender.ways(testCase, sql).forEach((way, work) -> {
        String[] parts = way.contains(":") ? way.split(":") : new String[] {contender.name(), way};
        measures.add(new Measure(testCase + "_" + parts[1], parts[0], work, runs));
      });
    }
    for (int i = 0; i < Integer.parseInt(setting("WARM", "8")); i++) {
      for (Measure measure : measures) {
        measure.warm();
      }
    }
    for (int i = 0; i < runs; i++) {
      // Once a round, not before each run: a collection takes longer than most runs.
      System.gc();
      for (Measure measure : measures) {
        measure.run();
      }
    }
    for (Measure measure : measures) {
      if (measure.system.equals("howdah") && measure.testCase.matches(".*(untouched|all)")) {
        measure.retain();
      }
      measure.report(report);
    }
  }
}
