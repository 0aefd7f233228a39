package dev.howdah.pg.bench;

import com.zaxxer.hikari.HikariDataSource;
import dev.howdah.pg.Config;
import dev.howdah.pg.Connection;
import dev.howdah.pg.Pool;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** What each system answers a request of the sixth test with: the query's rows as JSON. */
final class HttpAnswers implements AutoCloseable {
  private static final int CONNECTIONS = 10;
  private static final int SHARED = 8;

  private final Connection[] shared = new Connection[SHARED];
  private final AtomicInteger turn = new AtomicInteger();
  private final Pool pool;
  private final HikariDataSource lender;
  private final Vertx vertx;
  private final BlockingQueue<Drain> drains = new ArrayBlockingQueue<>(CONNECTIONS);
  private final byte[] constant;

  HttpAnswers(Server server) throws IOException {
    Config config = Main.config(server);
    for (int i = 0; i < SHARED; i++) {
      shared[i] = Connection.open(config);
    }
    pool = new Pool(config, Pool.Settings.DEFAULT.size(CONNECTIONS));
    lender = Pgjdbc.lender(server.jdbcUrl(), CONNECTIONS);
    vertx = new Vertx(server, CONNECTIONS);
    for (int i = 0; i < CONNECTIONS; i++) {
      drains.add(new Drain(server));
    }
    constant = shared[0].json(Queries.t6());
  }

  Map<String, HttpServer.Answer> bySystem() {
    String sql = Queries.t6();
    Map<String, HttpServer.Answer> answers = new LinkedHashMap<>();
    answers.put("howdah", () -> pool.with(connection -> connection.json(sql)));
    answers.put("howdah_shared", () -> shared[turn.getAndIncrement() & SHARED - 1].json(sql));
    answers.put("socket", () -> drained(sql));
    answers.put(
        "pgjdbc_maps",
        () ->
            (byte[])
                Pgjdbc.borrowed(
                    lender, sql, rows -> Pgjdbc.JACKSON.writeValueAsBytes(Pgjdbc.maps(rows))));
    answers.put("vertx", () -> vertx.json(sql));
    return answers;
  }

  /** The server has done its work, no client has: a constant of the right length is the answer. */
  private byte[] drained(String sql) throws Exception {
    Drain drain = drains.take();
    try {
      drain.run(sql);
      return constant;
    } finally {
      drains.add(drain);
    }
  }

  @Override
  public void close() throws IOException {
    for (Connection connection : shared) {
      connection.close();
    }
    pool.close();
    lender.close();
    vertx.close();
    for (Drain drain : drains) {
      drain.close();
    }
  }
}
