package dev.howdah.pg.jdbc;

import java.sql.SQLException;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * New values of a row's columns, which are set as the parameters of a statement are. It is never
 * executed itself.
 */
final class PendingRow extends JdbcPreparedStatement {
  private final JdbcType[] types;
  private final SortedMap<Integer, Parameter> values = new TreeMap<>();

  PendingRow(JdbcConnection connection, JdbcType[] types) throws SQLException {
    super(connection, ResultSetKind.STANDARD, connection.parse(""), null);
    this.types = types;
  }

  @Override
  void set(int column, Parameter value) {
    values.put(column, value);
  }

  @Override
  boolean takesLargeObject(int column) {
    return Lobs.areNumbers(types[column - 1].name());
  }

  /** The values by the numbers of their columns, from 1 on. */
  SortedMap<Integer, Parameter> values() {
    return values;
  }
}
