package dev.howdah.pg.bench;

import clojure.java.api.Clojure;
import clojure.lang.IFn;
import clojure.lang.IPersistentMap;
import clojure.lang.Keyword;
import clojure.lang.PersistentArrayMap;
import clojure.lang.PersistentVector;
import clojure.lang.Symbol;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;

/** clojure.java.jdbc over pgjdbc, which makes a map of every row. */
final class JavaJdbc implements Contender {
  private final Connection connection;
  private final HikariDataSource lender;
  private final IFn query;

  JavaJdbc(String url) throws SQLException {
    connection = DriverManager.getConnection(url);
    lender = Pgjdbc.lender(url, 1);
    Clojure.var("clojure.core", "require").invoke(Symbol.intern("clojure.java.jdbc"));
    query = Clojure.var("clojure.java.jdbc", "query");
  }

  private Iterable<?> rows(String testCase, String sql) {
    Object source =
        testCase.equals("t4")
            ? PersistentArrayMap.EMPTY.assoc(Keyword.intern("datasource"), lender)
            : PersistentArrayMap.EMPTY.assoc(Keyword.intern("connection"), connection);
    return (Iterable<?>) query.invoke(source, PersistentVector.create(sql));
  }

  @Override
  public Map<String, Work> ways(String testCase, String sql) {
    Map<String, Work> ways = new LinkedHashMap<>();
    ways.put("java_jdbc:all", () -> rows(testCase, sql));
    if (testCase.equals("t5")) {
      ways.put(
          "java_jdbc:assoc",
          () -> {
            int seen = 0;
            for (Object row : rows(testCase, sql)) {
              seen += ((IPersistentMap) row).assoc(Howdah.EXTRA, 42L).count();
            }
            return seen;
          });
    }
    return ways;
  }

  @Override
  public void close() throws SQLException {
    connection.close();
    lender.close();
  }
}
