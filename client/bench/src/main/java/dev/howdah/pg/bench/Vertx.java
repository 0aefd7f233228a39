package dev.howdah.pg.bench;

import io.vertx.core.json.JsonArray;
import io.vertx.pgclient.PgBuilder;
import io.vertx.pgclient.PgConnectOptions;
import io.vertx.sqlclient.Pool;
import io.vertx.sqlclient.PoolOptions;
import io.vertx.sqlclient.Row;
import io.vertx.sqlclient.RowSet;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The reactive client of Vert.x, its statements prepared and kept; the caller waits for the result.
 */
final class Vertx implements Contender {
  private final io.vertx.core.Vertx vertx = io.vertx.core.Vertx.vertx();
  private final Pool pool;

  Vertx(Server server) {
    this(server, 1);
  }

  Vertx(Server server, int connections) {
    PgConnectOptions options =
        new PgConnectOptions()
            .setHost(server.host())
            .setPort(server.port())
            .setUser(server.user())
            .setPassword("none")
            .setDatabase(server.database())
            .setCachePreparedStatements(true);
    pool =
        PgBuilder.pool()
            .with(new PoolOptions().setMaxSize(connections))
            .connectingTo(options)
            .using(vertx)
            .build();
  }

  private RowSet<Row> rows(String sql) throws Exception {
    return pool.preparedQuery(sql).execute().toCompletionStage().toCompletableFuture().get();
  }

  @Override
  public Map<String, Work> ways(String testCase, String sql) {
    Map<String, Work> ways = new LinkedHashMap<>();
    ways.put("vertx:untouched", () -> rows(sql));
    ways.put("vertx:all", () -> all(rows(sql)));
    ways.put("vertx:map", () -> maps(rows(sql)));
    ways.put("vertx:json", () -> json(sql));
    return ways;
  }

  private static Object all(RowSet<Row> rows) {
    List<Object[]> arrays = new ArrayList<>(rows.size());
    for (Row row : rows) {
      Object[] array = new Object[row.size()];
      for (int i = 0; i < array.length; i++) {
        array[i] = row.getValue(i);
      }
      arrays.add(array);
    }
    return arrays;
  }

  private static Object maps(RowSet<Row> rows) {
    List<Object> maps = new ArrayList<>(rows.size());
    for (Row row : rows) {
      maps.add(row.toJson().getMap());
    }
    return maps;
  }

  /** The rows as bytes of JSON, by Vert.x's own mapping. */
  byte[] json(String sql) throws Exception {
    JsonArray array = new JsonArray();
    for (Row row : rows(sql)) {
      array.add(row.toJson());
    }
    return array.toBuffer().getBytes();
  }

  @Override
  public void close() {
    pool.close().toCompletionStage().toCompletableFuture().join();
    vertx.close().toCompletionStage().toCompletableFuture().join();
  }
}
