package dev.howdah.pg.bench;

import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.howdah.pg.Config;
import dev.howdah.pg.Pool;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.concurrent.Executors;
import java.util.concurrent.ExecutorService;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The sixth test: the same small HTTP server for both clients, a handler that borrows a connection, runs the
 * query and answers its rows as JSON. The load comes from wrk, in a process of its own.
 */
final class Http {
  private static final int CONNECTIONS = 10;
  private static final int THREADS = 64;
  private static final Pattern RATE = Pattern.compile("Requests/sec:\\s+([0-9.]+)");

  private Http() {}

  private interface Handler {
    byte[] answer() throws Exception;
  }

  static boolean canRun() {
    try {
      return new ProcessBuilder("wrk", "-v").redirectErrorStream(true).start().waitFor() >= 0;
    } catch (IOException | InterruptedException e) {
      return false;
    }
  }

  static void run(Report report, Config config, String url, int seconds, int rounds) throws Exception {
    HikariConfig hikari = new HikariConfig();
    hikari.setJdbcUrl(url);
    hikari.setMaximumPoolSize(CONNECTIONS);
    try (Pool pool = new Pool(config, Pool.Settings.DEFAULT.size(CONNECTIONS)); HikariDataSource source = new HikariDataSource(hikari)) {
      Handler ours = () -> pool.with(connection -> {
        ByteArrayOutputStream body = new ByteArrayOutputStream(1 << 16);
        connection.writeJson(body, Queries.t6());
        return body.toByteArray();
      });
      Handler theirs = () -> {
        try (Connection connection = source.getConnection();
            PreparedStatement statement = connection.prepareStatement(Queries.t6());
            ResultSet rows = statement.executeQuery()) {
          return Pgjdbc.JACKSON.writeValueAsBytes(Pgjdbc.maps(rows));
        }
      };
      for (int clients : new int[] {1, 16, 64}) {
        compare(report, clients, ours, theirs, seconds, rounds);
      }
    }
  }

  private static void compare(Report report, int clients, Handler ours, Handler theirs, int seconds, int rounds) throws Exception {
    double[][] rate = new double[2][rounds];
    double[][] cpu = new double[2][rounds];
    load(ours, clients, seconds);
    load(theirs, clients, seconds);
    for (int round = 0; round < rounds; round++) {
      for (int system = 0; system < 2; system++) {
        double[] figures = load(system == 0 ? ours : theirs, clients, seconds);
        rate[system][round] = figures[0];
        cpu[system][round] = figures[1];
      }
    }
    for (int system = 0; system < 2; system++) {
      String name = system == 0 ? "howdah" : "pgjdbc_maps";
      java.util.Arrays.sort(rate[system]);
      java.util.Arrays.sort(cpu[system]);
      int middle = rounds / 2;
      report.add("t6_" + clients, name, "requests_per_second", rate[system][middle], rate[system][0], rate[system][rounds - 1], rounds);
      report.add("t6_" + clients, name, "jvm_cpu_us_per_request", cpu[system][middle], cpu[system][0], cpu[system][rounds - 1], rounds);
    }
  }

  /** Requests per second, and microseconds of this process's CPU for each request. */
  private static double[] load(Handler handler, int clients, int seconds) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 256);
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    server.setExecutor(threads);
    server.createContext("/", exchange -> {
      try (exchange) {
        byte[] body = handler.answer();
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
      } catch (Exception e) {
        throw new IOException(e);
      }
    });
    server.start();
    try {
      com.sun.management.OperatingSystemMXBean system =
          (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
      long cpu = system.getProcessCpuTime();
      Process wrk = new ProcessBuilder("wrk", "-t1", "-c" + clients, "-d" + seconds + "s",
          "http://127.0.0.1:" + server.getAddress().getPort() + "/").redirectErrorStream(true).start();
      String output = new String(wrk.getInputStream().readAllBytes());
      Matcher rate = RATE.matcher(output);
      if (wrk.waitFor() != 0 || !rate.find()) {
        throw new IllegalStateException("wrk failed: " + output);
      }
      double perSecond = Double.parseDouble(rate.group(1));
      return new double[] {perSecond, (system.getProcessCpuTime() - cpu) / 1000.0 / (perSecond * seconds)};
    } finally {
      server.stop(0);
      threads.shutdownNow();
    }
  }
}
