package dev.howdah.pg.bench;

import dev.howdah.pg.Config;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Runs the client cases against the server that libpq's variables name: every way of every system
 * once a round, in an order of each round's own. Each figure is a line of JSON on the standard
 * output. The environment says what is run: CASES and SYSTEMS with commas, RUNS, WARM, DURATION of
 * each load in seconds, ROUNDS of loads, ROWS.
 */
public final class Main {
  private Main() {}

  private static int number(String name, int standard) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? standard : Integer.parseInt(value);
  }

  private static List<String> names(String name, String standard) {
    String value = System.getenv(name);
    return List.of((value == null || value.isEmpty() ? standard : value).split(","));
  }

  /** The program. */
  public static void main(String[] arguments) throws Exception {
    List<String> cases = names("CASES", "t1,t2,t3,t4,t5,t5_varied,t6,codecs");
    List<String> systems =
        names(
            "SYSTEMS",
            "howdah,howdah_shared,floor,socket,pgjdbc_arrays,pgjdbc_maps,java_jdbc,vertx");
    Server server = Server.ofEnvironment();
    try (Contenders contenders = new Contenders(server)) {
      for (Map.Entry<String, String> query : Queries.byCase().entrySet()) {
        if (cases.contains(query.getKey())) {
          measure(query.getKey(), query.getValue(), contenders, systems);
        }
      }
    }
    if (cases.contains("t6")) {
      Http.run(server, systems, number("DURATION", 5), number("ROUNDS", 3));
    }
    if (cases.contains("codecs") && systems.contains("howdah")) {
      CodecBenchmark.run();
    }
  }

  private static void measure(
      String testCase, String sql, Contenders contenders, List<String> systems) throws Exception {
    int runs = number("RUNS", 20);
    Map<String, Measure> measures = new LinkedHashMap<>();
    for (Contender contender : contenders.all()) {
      contender
          .ways(testCase, sql)
          .forEach(
              (way, work) -> {
                String system = way.substring(0, way.indexOf(':'));
                if (systems.contains(system)) {
                  measures.put(
                      way,
                      new Measure(
                          testCase + way.substring(way.indexOf(':')).replace(':', '_'),
                          system,
                          work,
                          runs));
                }
              });
    }
    List<Measure> all = new ArrayList<>(measures.values());
    for (int i = 0; i < number("WARM", 8); i++) {
      for (Measure measure : all) {
        measure.warm();
      }
    }
    Random random = new Random(1);
    for (int i = 0; i < runs; i++) {
      // Once a round, not before each run: a collection takes longer than most runs.
      System.gc();
      // What comes first after it, or after another client's garbage, is not always the same.
      Collections.shuffle(all, random);
      for (Measure measure : all) {
        measure.run();
      }
    }
    for (Measure measure : measures.values()) {
      if (measure.keepsItsResult()) {
        measure.retain();
      }
      measure.report();
    }
    if (systems.contains("howdah")) {
      Report.add(
          testCase + "_untouched", "howdah", "write_calls_per_query", contenders.writesOf(sql));
    }
  }

  /** The configuration of this client for a server. */
  static Config config(Server server) {
    return Config.builder(Map.of())
        .host(server.host())
        .port(server.port())
        .user(server.user())
        .database(server.database())
        .build();
  }
}
