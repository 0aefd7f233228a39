package dev.howdah.pg.bench;

import clojure.java.api.Clojure;
import clojure.lang.IPersistentMap;
import clojure.lang.Keyword;
import dev.howdah.pg.Config;
import dev.howdah.pg.Connection;
import dev.howdah.pg.Options;
import dev.howdah.pg.Pool;
import dev.howdah.pg.Result;
import dev.howdah.pg.Row;
import dev.howdah.pg.clojure.RowMaps;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** This client, with rows that are Clojure maps, as the published tests have them. */
final class Howdah implements Contender {
  static final Keyword EXTRA = Keyword.intern("extra");

  private final Connection connection;
  private final Pool pool;
  private final Options options =
      Options.DEFAULT.rows(new RowMaps(Clojure.var("clojure.core", "keyword")));

  Howdah(Config config) {
    connection = Connection.open(config);
    pool = new Pool(config);
  }

  private Result rows(String testCase, String sql) {
    return testCase.equals("t4")
        ? pool.with(lent -> lent.query(options, sql))
        : connection.query(options, sql);
  }

  @Override
  public Map<String, Work> ways(String testCase, String sql) {
    Map<String, Work> ways = new LinkedHashMap<>();
    ways.put("howdah:untouched", () -> rows(testCase, sql));
    ways.put("howdah:one", () -> one(rows(testCase, sql)));
    ways.put("howdah:all", () -> all(rows(testCase, sql)));
    ways.put("howdah:map", () -> maps(rows(testCase, sql)));
    ways.put(
        "howdah:json",
        () ->
            testCase.equals("t4")
                ? pool.with(lent -> lent.writeJson(OutputStream.nullOutputStream(), sql))
                : connection.writeJson(OutputStream.nullOutputStream(), sql));
    if (testCase.equals("t5")) {
      ways.put("howdah:assoc", () -> assoc(rows(testCase, sql)));
    }
    return ways;
  }

  private static Object one(Result rows) {
    int seen = 0;
    for (Row row : rows) {
      seen += row.getObject(0).hashCode();
    }
    return seen;
  }

  /** The rows with every cell decoded and kept, as pgjdbc's arrays keep theirs. */
  private static Object all(Result rows) {
    int seen = 0;
    int width = rows.columns().size();
    for (Row row : rows) {
      for (int i = 0; i < width; i++) {
        seen += row.getObject(i) == null ? 0 : 1;
      }
    }
    return seen >= 0 ? rows : null;
  }

  private static Object maps(Result rows) {
    List<Object> maps = new ArrayList<>(rows.size());
    for (Row row : rows) {
      maps.add(row.toMap());
    }
    return maps;
  }

  private static Object assoc(Result rows) {
    int seen = 0;
    for (Row row : rows) {
      seen += ((IPersistentMap) row).assoc(EXTRA, 42L).count();
    }
    return seen;
  }

  long writes() {
    return connection.writes();
  }

  @Override
  public void close() {
    connection.close();
    pool.close();
  }
}
