package dev.howdah.pg.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.util.RawValue;
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

/** pgjdbc with prepared statements that it keeps, iterating, into arrays, into maps, and as JSON by Jackson. */
final class Pgjdbc implements Contender {
  static final ObjectMapper JACKSON = new ObjectMapper();

  private final Connection connection;
  private final Map<String, PreparedStatement> statements = new HashMap<>();

  Pgjdbc(String url) throws SQLException {
    connection = DriverManager.getConnection(url);
  }

  @Override
  public String name() {
    return "pgjdbc";
  }

  private ResultSet rows(String sql) throws SQLException {
    PreparedStatement statement = statements.get(sql);
    if (statement == null) {
      statement = connection.prepareStatement(sql);
      statements.put(sql, statement);
    }
    return statement.executeQuery();
  }

  @Override
  public Map<String, Work> ways(String testCase, String sql) {
    Map<String, Work> ways = new LinkedHashMap<>();
    ways.put("floor:untouched", () -> untouched(sql));
    ways.put("pgjdbc_arrays:one", () -> one(sql));
    ways.put("pgjdbc_arrays:all", () -> arrays(sql));
    ways.put("pgjdbc_maps:map", () -> {
      try (ResultSet rows = rows(sql)) {
        return maps(rows);
      }
    });
    ways.put("pgjdbc_maps:json", () -> {
      try (ResultSet rows = rows(sql)) {
        JACKSON.writeValue(OutputStream.nullOutputStream(), maps(rows));
        return null;
      }
    });
    return ways;
  }

  private Object untouched(String sql) throws SQLException {
    int count = 0;
    try (ResultSet rows = rows(sql)) {
      while (rows.next()) {
        count++;
      }
    }
    return count;
  }

  private Object one(String sql) throws SQLException {
    int seen = 0;
    try (ResultSet rows = rows(sql)) {
      while (rows.next()) {
        seen += rows.getObject(1).hashCode();
      }
    }
    return seen;
  }

  private Object arrays(String sql) throws SQLException {
    List<Object[]> arrays = new ArrayList<>();
    try (ResultSet rows = rows(sql)) {
      int width = rows.getMetaData().getColumnCount();
      while (rows.next()) {
        Object[] array = new Object[width];
        for (int i = 0; i < width; i++) {
          array[i] = rows.getObject(i + 1);
        }
        arrays.add(array);
      }
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
  }
}
