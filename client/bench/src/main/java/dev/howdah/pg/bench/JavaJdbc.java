package dev.howdah.pg.bench;

import clojure.java.api.Clojure;
import clojure.lang.IFn;
import clojure.lang.Keyword;
import clojure.lang.PersistentArrayMap;
import clojure.lang.PersistentVector;
import clojure.lang.Symbol;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;

/** clojure.java.jdbc over pgjdbc, which makes a map of every row. */
final class JavaJdbc implements Contender {
  private final Connection connection;
  private final IFn query;
  private final Object source;

  JavaJdbc(String url) throws SQLException {
    connection = DriverManager.getConnection(url);
    Clojure.var("clojure.core", "require").invoke(Symbol.intern("clojure.java.jdbc"));
    query = Clojure.var("clojure.java.jdbc", "query");
    source = PersistentArrayMap.EMPTY.assoc(Keyword.intern("connection"), connection);
  }

  @Override
  public String name() {
    return "java_jdbc";
  }

  @Override
  public Map<String, Work> ways(String testCase, String sql) {
    Map<String, Work> ways = new LinkedHashMap<>();
    ways.put("java_jdbc:all", () -> query.invoke(source, PersistentVector.create(sql)));
    return ways;
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
