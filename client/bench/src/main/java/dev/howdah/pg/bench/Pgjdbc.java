package dev.howdah.pg.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.util.RawValue;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.OutputStream;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * pgjdbc with prepared statements that it keeps, iterating, into arrays, into maps, and as JSON by
 * Jackson.
 */
final class Pgjdbc implements Contender {
  static final ObjectMapper JACKSON = new ObjectMapper();

  private final Connection connection;
  private final HikariDataSource lender;
  private final Map<String, PreparedStatement> statements = new HashMap<>();

  Pgjdbc(String url) throws SQLException {
    connection = DriverManager.getConnection(url);
    lender = lender(url, 1);
  }

  /**
   * HikariCP over pgjdbc, as its documentation recommends: pgjdbc itself keeps the statements
   * prepared.
   */
  static HikariDataSource lender(String url, int connections) {
    HikariConfig hikari = new HikariConfig();
    hikari.setJdbcUrl(url);
    hikari.setMaximumPoolSize(connections);
    return new HikariDataSource(hikari);
  }

  /** What is made of a result set that is closed afterwards. */
  interface Reader {
    Object read(ResultSet rows) throws Exception;
  }

  private Work way(String testCase, String sql, Reader reader) {
    return testCase.equals("t4")
        ? () -> borrowed(lender, sql, reader)
        : () -> {
          PreparedStatement statement = statements.get(sql);
          if (statement == null) {
            statement = connection.prepareStatement(sql);
            statements.put(sql, statement);
          }
          try (ResultSet rows = statement.executeQuery()) {
            return reader.read(rows);
          }
        };
  }

  static Object borrowed(HikariDataSource lender, String sql, Reader reader) throws Exception {
    try (Connection borrowed = lender.getConnection();
        PreparedStatement statement = borrowed.prepareStatement(sql);
        ResultSet rows = statement.executeQuery()) {
      return reader.read(rows);
    }
  }

  @Override
  public Map<String, Work> ways(String testCase, String sql) {
    Map<String, Work> ways = new LinkedHashMap<>();
    ways.put("floor:untouched", way(testCase, sql, Pgjdbc::untouched));
    ways.put("pgjdbc_arrays:one", way(testCase, sql, Pgjdbc::one));
    ways.put("pgjdbc_arrays:all", way(testCase, sql, Pgjdbc::arrays));
    ways.put("pgjdbc_maps:map", way(testCase, sql, Pgjdbc::maps));
    ways.put(
        "pgjdbc_maps:json",
        way(
            testCase,
            sql,
            rows -> {
              JACKSON.writeValue(OutputStream.nullOutputStream(), maps(rows));
              return null;
            }));
    return ways;
  }

  private static Object untouched(ResultSet rows) throws SQLException {
    int count = 0;
    while (rows.next()) {
      count++;
    }
    return count;
  }

  private static Object one(ResultSet rows) throws SQLException {
    int seen = 0;
    while (rows.next()) {
      seen += rows.getObject(1).hashCode();
    }
    return seen;
  }

  private static Object arrays(ResultSet rows) throws SQLException {
    List<Object[]> arrays = new ArrayList<>();
    int width = rows.getMetaData().getColumnCount();
    while (rows.next()) {
      Object[] array = new Object[width];
      for (int i = 0; i < width; i++) {
        array[i] = rows.getObject(i + 1);
      }
      arrays.add(array);
    }
    return arrays;
  }

  /** Maps as a good user makes them: json stays as it is and is written raw. */
  static List<Map<String, Object>> maps(ResultSet rows) throws SQLException {
    int width = rows.getMetaData().getColumnCount();
    String[] names = new String[width];
    boolean[] json = new boolean[width];
    for (int i = 0; i < width; i++) {
      names[i] = rows.getMetaData().getColumnLabel(i + 1);
      json[i] = rows.getMetaData().getColumnTypeName(i + 1).startsWith("json");
    }
    List<Map<String, Object>> maps = new ArrayList<>();
    while (rows.next()) {
      Map<String, Object> map = new LinkedHashMap<>(width * 2);
      for (int i = 0; i < width; i++) {
        map.put(names[i], json[i] ? new RawValue(rows.getString(i + 1)) : rows.getObject(i + 1));
      }
      maps.add(map);
    }
    return maps;
  }

  @Override
  public void close() throws SQLException {
    connection.close();
    lender.close();
  }
}
