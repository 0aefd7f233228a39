package dev.howdah.pg.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** What a statement has been told about its executions, and what of it follows from the rest. */
abstract class LeastStatement implements Statement {
  private int fetchSize;
  private long mostRows;
  private int timeout;
  private boolean poolable;
  private boolean escapes = true;

  abstract void checkOpen() throws SQLException;

  /**
   * Runs a statement and returns as generated keys the columns of a list, or none if that is null.
   */
  abstract boolean execute(String sql, String columns) throws SQLException;

  /** How many rows the last execution changed. */
  abstract long count() throws SQLException;

  final long mostRows() {
    return mostRows;
  }

  @Override
  public boolean execute(String sql, int wanted) throws SQLException {
    return execute(sql, wanted == RETURN_GENERATED_KEYS ? "*" : null);
  }

  @Override
  public boolean execute(String sql, int[] columns) throws SQLException {
    throw SqlErrors.unsupported("asking for generated keys by column number", "name the columns");
  }

  @Override
  public boolean execute(String sql, String[] columns) throws SQLException {
    return execute(
        sql, columns == null || columns.length == 0 ? null : LeastConnection.quoted(columns));
  }

  private static int toInt(long count) throws SQLException {
    if (count > Integer.MAX_VALUE) {
      throw SqlErrors.error(
          "22003", count + " rows do not fit an int; use the methods named Large");
    }
    return (int) count;
  }

  @Override
  public int executeUpdate(String sql) throws SQLException {
    return toInt(executeLargeUpdate(sql));
  }

  @Override
  public int executeUpdate(String sql, int wanted) throws SQLException {
    return toInt(executeLargeUpdate(sql, wanted));
  }

  @Override
  public int executeUpdate(String sql, int[] columns) throws SQLException {
    return toInt(executeLargeUpdate(sql, columns));
  }

  @Override
  public int executeUpdate(String sql, String[] columns) throws SQLException {
    return toInt(executeLargeUpdate(sql, columns));
  }

  @Override
  public long executeLargeUpdate(String sql) throws SQLException {
    execute(sql);
    return count();
  }

  @Override
  public long executeLargeUpdate(String sql, int wanted) throws SQLException {
    execute(sql, wanted);
    return count();
  }

  @Override
  public long executeLargeUpdate(String sql, int[] columns) throws SQLException {
    execute(sql, columns);
    return count();
  }

  @Override
  public long executeLargeUpdate(String sql, String[] columns) throws SQLException {
    execute(sql, columns);
    return count();
  }

  @Override
  public int getUpdateCount() throws SQLException {
    return toInt(getLargeUpdateCount());
  }

  @Override
  public boolean getMoreResults() throws SQLException {
    return getMoreResults(CLOSE_CURRENT_RESULT);
  }

  @Override
  public int[] executeBatch() throws SQLException {
    long[] counts = executeLargeBatch();
    int[] small = new int[counts.length];
    for (int i = 0; i < counts.length; i++) {
      small[i] = counts[i] > Integer.MAX_VALUE ? SUCCESS_NO_INFO : (int) counts[i];
    }
    return small;
  }

  @Override
  public void setFetchSize(int rows) throws SQLException {
    checkOpen();
    fetchSize = notNegative(rows);
  }

  private static int notNegative(long value) throws SQLException {
    if (value < 0 || value > Integer.MAX_VALUE) {
      throw SqlErrors.error("22023", "a number from 0 to 2147483647 is wanted, not " + value);
    }
    return (int) value;
  }

  @Override
  public int getFetchSize() throws SQLException {
    checkOpen();
    return fetchSize;
  }

  @Override
  public void setFetchDirection(int direction) throws SQLException {
    checkOpen();
    JdbcResultSet.checkDirection(direction);
  }

  @Override
  public int getFetchDirection() throws SQLException {
    checkOpen();
    return ResultSet.FETCH_FORWARD;
  }

  @Override
  public void setMaxRows(int rows) throws SQLException {
    setLargeMaxRows(rows);
  }

  @Override
  public int getMaxRows() throws SQLException {
    checkOpen();
    return (int) mostRows;
  }

  @Override
  public void setLargeMaxRows(long rows) throws SQLException {
    checkOpen();
    mostRows = notNegative(rows);
  }

  @Override
  public long getLargeMaxRows() throws SQLException {
    checkOpen();
    return mostRows;
  }

  @Override
  public void setQueryTimeout(int seconds) throws SQLException {
    checkOpen();
    timeout = notNegative(seconds);
  }

  @Override
  public int getQueryTimeout() throws SQLException {
    checkOpen();
    return timeout;
  }

  @Override
  public void setMaxFieldSize(int bytes) throws SQLException {
    checkOpen();
    if (notNegative(bytes) > 0) {
      throw SqlErrors.unsupported(
          "cutting values to a size", "select what you need, with left() or substr()");
    }
  }

  @Override
  public int getMaxFieldSize() throws SQLException {
    checkOpen();
    return 0;
  }

  /**
   * Whether what JDBC has in braces is written as SQL. A prepared statement has its SQL already.
   */
  @Override
  public void setEscapeProcessing(boolean wanted) throws SQLException {
    checkOpen();
    escapes = wanted;
  }

  final boolean processesEscapes() {
    return escapes;
  }

  @Override
  public void setCursorName(String name) throws SQLException {
    throw SqlErrors.unsupported("a name for the cursor", "declare a cursor in SQL");
  }

  @Override
  public void setPoolable(boolean wanted) throws SQLException {
    checkOpen();
    poolable = wanted;
  }

  @Override
  public boolean isPoolable() throws SQLException {
    checkOpen();
    return poolable;
  }

  final int fetches() {
    return fetchSize;
  }

  /** The seconds an execution may take; 0 for no limit. */
  final int timeout() {
    return timeout;
  }
}
