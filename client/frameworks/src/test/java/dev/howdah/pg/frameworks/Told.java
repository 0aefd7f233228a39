package dev.howdah.pg.frameworks;

import java.math.BigDecimal;
import java.sql.Array;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;

/** What a session saw, a line each, with the class of each value. */
final class Told {
  private final StringBuilder lines = new StringBuilder();

  void tell(String what, Object value) {
    lines.append(what).append(": ").append(shown(value)).append('\n');
  }

  /** An action that must fail: the exception's class, and the SQLSTATE below it. */
  void tellFailure(String what, Action action) {
    try {
      action.run();
    } catch (Exception e) {
      tell(what, e.getClass().getName() + " " + state(e));
      return;
    }
    throw new AssertionError(what + " did not fail");
  }

  /** Some columns of an answer of the metadata. */
  void tellMetadata(String what, ResultSet rows, String... columns) throws SQLException {
    try (rows) {
      while (rows.next()) {
        StringBuilder row = new StringBuilder();
        for (String column : columns) {
          // As text a boolean is t here and true there.
          Object value =
              column.equals("NON_UNIQUE") ? rows.getBoolean(column) : rows.getString(column);
          row.append(column).append('=').append(value).append(' ');
        }
        lines.append(what).append(": ").append(row).append('\n');
      }
    }
  }

  /**
   * What migrations and mappers ask of a schema. The catalog is the database's name here, and null
   * in older pgjdbc.
   */
  void tellSchema(DatabaseMetaData metadata, String catalog, String schema, String table)
      throws SQLException {
    tellMetadata(
        "table",
        metadata.getTables(catalog, schema, "%", new String[] {"TABLE", "VIEW"}),
        "TABLE_SCHEM",
        "TABLE_NAME",
        "TABLE_TYPE",
        "REMARKS");
    tellMetadata(
        "column",
        metadata.getColumns(catalog, schema, table, "%"),
        "TABLE_NAME",
        "COLUMN_NAME",
        "TYPE_NAME",
        "COLUMN_SIZE",
        "DECIMAL_DIGITS",
        "NULLABLE",
        "COLUMN_DEF",
        "ORDINAL_POSITION",
        "IS_NULLABLE",
        "IS_AUTOINCREMENT",
        "REMARKS");
    tellMetadata(
        "primary key",
        metadata.getPrimaryKeys(catalog, schema, table),
        "COLUMN_NAME",
        "KEY_SEQ",
        "PK_NAME");
    tellMetadata(
        "imported key",
        metadata.getImportedKeys(catalog, schema, table),
        "PKTABLE_NAME",
        "PKCOLUMN_NAME",
        "FKCOLUMN_NAME",
        "UPDATE_RULE",
        "DELETE_RULE",
        "FK_NAME",
        "PK_NAME",
        "DEFERRABILITY");
    tellMetadata(
        "exported key",
        metadata.getExportedKeys(catalog, schema, table),
        "FKTABLE_NAME",
        "FKCOLUMN_NAME",
        "FK_NAME");
    tellMetadata(
        "index",
        metadata.getIndexInfo(catalog, schema, table, false, true),
        "NON_UNIQUE",
        "INDEX_NAME",
        "TYPE",
        "ORDINAL_POSITION",
        "COLUMN_NAME",
        "ASC_OR_DESC",
        "FILTER_CONDITION");
  }

  interface Action {
    void run() throws Exception;
  }

  private static String state(Throwable e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof SQLException failure) {
        return failure.getSQLState();
      }
    }
    return "without SQLSTATE";
  }

  private static String shown(Object value) {
    try {
      if (value == null) {
        return "null";
      } else if (value instanceof byte[] bytes) {
        return "bytes " + HexFormat.of().formatHex(bytes);
      } else if (value instanceof Object[] elements) {
        return elements.getClass().getSimpleName()
            + Arrays.stream(elements).map(Told::shown).toList();
      } else if (value instanceof Array array) {
        return "array of " + array.getBaseTypeName() + " " + shown(array.getArray());
      } else if (value instanceof Map<?, ?> map) {
        Map<String, String> sorted = new TreeMap<>();
        map.forEach((key, each) -> sorted.put(key.toString(), shown(each)));
        return sorted.toString();
      } else if (value instanceof Collection<?> all) {
        return all.stream().map(Told::shown).toList().toString();
      } else if (value instanceof BigDecimal number) {
        return "BigDecimal " + number;
      }
      return value.getClass().getSimpleName() + " " + value;
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  boolean isEmpty() {
    return lines.isEmpty();
  }

  @Override
  public String toString() {
    return lines.toString();
  }
}
