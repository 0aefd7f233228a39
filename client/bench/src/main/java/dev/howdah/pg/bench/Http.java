package dev.howdah.pg.bench;

import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariDataSource;
import dev.howdah.pg.Options;
import dev.howdah.pg.Pool;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The sixth test: the same small HTTP server for all clients, a handler that borrows a connection, runs the
 * query and answers its rows as JSON. The load comes from wrk, in a process of its own.
 */
final class Http {
  private static final int CONNECTIONS = 10;
  private static final int THREADS = 64;
  private static final Pattern RATE = Pattern.compile("Requests/sec:\\s+([0-9.]+)");
  private static final Pattern ERRORS = Pattern.compile("Non-2xx|Socket errors");
  private static final com.sun.management.OperatingSystemMXBean SYSTEM =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private Http() {}

  private interface Handler {
    byte[] answer() throws Exception;
  }

  static void run(Server server, List<String> systems, int seconds, int rounds) throws Exception {
    try (Pool pool = new Pool(Main.config(server), Pool.Settings.DEFAULT.size(CONNECTIONS));
        HikariDataSource lender = Pgjdbc.lender(server.jdbcUrl(), CONNECTIONS);
        Vertx vertx = new Vertx(server, CONNECTIONS)) {
      Map<String, Handler> handlers = new LinkedHashMap<>();
      handlers.put("howdah", () -> pool.with(connection -> {
        ByteArrayOutputStream body = new ByteArrayOutputStream(1 << 16);
        connection.writeJson(Options.DEFAULT, body, Queries.t6());
        return body.toByteArray();
      }));
      handlers.put("pgjdbc_maps", () -> (byte[]) Pgjdbc.borrowed(lender, Queries.t6(), rows -> Pgjdbc.JACKSON.writeValueAsBytes(Pgjdbc.maps(rows))));
      handlers.put("vertx", () -> vertx.json(Queries.t6()));
      handlers.keySet().retainAll(systems);
      for (int clients : new int[] {1, 16, 64}) {
        compare(clients, handlers, seconds, rounds);
      }
    }
  }

  private static void compare(int clients, Map<String, Handler> handlers, int seconds, int rounds) throws Exception {
    Map<String, double[][]> figures = new LinkedHashMap<>();
    for (Map.Entry<String, Handler> handler : handlers.entrySet()) {
      load(handler.getValue(), clients, seconds);
      figures.put(handler.getKey(), new double[2][rounds]);
    }
    for (int round = 0; round < rounds; round++) {
      for (Map.Entry<String, Handler> handler : handlers.entrySet()) {
        double[] seen = load(handler.getValue(), clients, seconds);
        figures.get(handler.getKey())[0][round] = seen[0];
        figures.get(handler.getKey())[1][round] = seen[1];
      }
    }
    for (Map.Entry<String, double[][]> seen : figures.entrySet()) {
      Report.add("t6_" + clients, seen.getKey(), "requests_per_second", seen.getValue()[0]);
      Report.add("t6_" + clients, seen.getKey(), "jvm_cpu_us_per_request", seen.getValue()[1]);
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
      long cpu = SYSTEM.getProcessCpuTime();
      double perSecond = wrk(clients, seconds, server.getAddress().getPort());
      return new double[] {perSecond, (SYSTEM.getProcessCpuTime() - cpu) / 1000.0 / (perSecond * seconds)};
    } finally {
      server.stop(0);
      threads.shutdownNow();
    }
  }

  private static double wrk(int clients, int seconds, int port) throws IOException, InterruptedException {
    Process wrk = new ProcessBuilder("wrk", "-t1", "-c" + clients, "-d" + seconds + "s", "http://127.0.0.1:" + port + "/")
        .redirectErrorStream(true).start();
    String output = new String(wrk.getInputStream().readAllBytes());
    Matcher rate = RATE.matcher(output);
    if (wrk.waitFor() != 0 || !rate.find() || ERRORS.matcher(output).find()) {
      throw new IllegalStateException("wrk failed: " + output);
    }
    return Double.parseDouble(rate.group(1));
  }
}
