package dev.howdah.pg.bench;

import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The sixth test: one HTTP server for all clients, whose handler runs the query and answers its
 * rows as JSON. The load comes from wrk, in a process of its own, so this process's CPU is the
 * server's and the client's.
 */
final class Http {
  /** A load in which the compiler took less than this part of the time counts as warm. */
  private static final double RESTED = 0.03;

  private static final int MOST_WARM_LOADS = 8;
  private static final Pattern RATE = Pattern.compile("Requests/sec:\\s+([0-9.]+)");
  private static final Pattern ERRORS = Pattern.compile("Non-2xx|Socket errors");
  private static final CompilationMXBean COMPILER = ManagementFactory.getCompilationMXBean();
  private static final com.sun.management.OperatingSystemMXBean SYSTEM =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private Http() {}

  /** Requests per second, and microseconds of this process's CPU for each. */
  private record Load(double perSecond, double cpuMicros) {}

  static void run(Server server, List<String> systems, int seconds, int rounds) throws Exception {
    try (HttpAnswers all = new HttpAnswers(server)) {
      Map<String, HttpServer.Answer> answers = all.bySystem();
      answers.keySet().retainAll(systems);
      for (HttpServer.Answer answer : answers.values()) {
        warm(answer, seconds);
      }
      for (int clients : new int[] {1, 16, 64}) {
        compare(clients, answers, seconds, rounds);
      }
    }
  }

  /**
   * Loads the server until the compiler has rested: before, its work is up to half of the
   * process's.
   */
  private static void warm(HttpServer.Answer answer, int seconds) throws Exception {
    for (int i = 0; i < MOST_WARM_LOADS; i++) {
      long compiling = COMPILER.getTotalCompilationTime();
      load(answer, 16, seconds);
      if (COMPILER.getTotalCompilationTime() - compiling < RESTED * 1000 * seconds) {
        return;
      }
    }
  }

  private static void compare(
      int clients, Map<String, HttpServer.Answer> answers, int seconds, int rounds)
      throws Exception {
    Map<String, Load[]> loads = new LinkedHashMap<>();
    for (Map.Entry<String, HttpServer.Answer> answer : answers.entrySet()) {
      load(answer.getValue(), clients, seconds);
      loads.put(answer.getKey(), new Load[rounds]);
    }
    for (int round = 0; round < rounds; round++) {
      for (Map.Entry<String, HttpServer.Answer> answer : answers.entrySet()) {
        loads.get(answer.getKey())[round] = load(answer.getValue(), clients, seconds);
      }
    }
    for (Map.Entry<String, Load[]> entry : loads.entrySet()) {
      List<Load> seen = List.of(entry.getValue());
      Report.add(
          "t6_" + clients,
          entry.getKey(),
          "requests_per_second",
          seen.stream().mapToDouble(Load::perSecond).toArray());
      Report.add(
          "t6_" + clients,
          entry.getKey(),
          "jvm_cpu_us_per_request",
          seen.stream().mapToDouble(Load::cpuMicros).toArray());
    }
  }

  private static Load load(HttpServer.Answer answer, int clients, int seconds) throws Exception {
    try (HttpServer server = new HttpServer(answer)) {
      long cpu = SYSTEM.getProcessCpuTime();
      double perSecond = wrk(clients, seconds, server.port());
      return new Load(
          perSecond, (SYSTEM.getProcessCpuTime() - cpu) / 1000.0 / (perSecond * seconds));
    }
  }

  private static double wrk(int clients, int seconds, int port)
      throws IOException, InterruptedException {
    // On a busy machine a request may take seconds; that makes it slow, not wrong.
    Process wrk =
        new ProcessBuilder(
                "wrk",
                "-t1",
                "-c" + clients,
                "-d" + seconds + "s",
                "--timeout",
                "30s",
                "http://127.0.0.1:" + port + "/")
            .redirectErrorStream(true)
            .start();
    String output = new String(wrk.getInputStream().readAllBytes());
    Matcher rate = RATE.matcher(output);
    if (wrk.waitFor() != 0 || !rate.find() || ERRORS.matcher(output).find()) {
      throw new IllegalStateException("wrk failed: " + output);
    }
    return Double.parseDouble(rate.group(1));
  }
}
