package dev.howdah.pg.jdbc;

import dev.howdah.pg.Options;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** A statement: runs SQL and keeps what it answered until the next. */
class JdbcStatement implements Statement {
  final JdbcConnection connection;
  private final ResultSetKind kind;
  private final Warnings warnings = new Warnings();
  private final List<ParsedSql> batch = new ArrayList<>();
  private List<Answer> answers = List.of();
  private int current;
  private JdbcResultSet open;
  private List<JdbcResultSet> kept = new ArrayList<>();
  private Answer keys;
  private int fetchSize;
  private long mostRows;
  private int timeout;
  private boolean poolable;
  private boolean closesOnCompletion;
  private volatile boolean closed;

  JdbcStatement(JdbcConnection connection, ResultSetKind kind) {
    this.connection = connection;
    this.kind = kind;
  }

  /** Whether what it runs is not prepared beforehand, so that it is most likely run once. */
  boolean isPlain() {
    return true;
  }

  final void checkOpen() throws SQLException {
    if (closed) {
      throw SqlErrors.error("55000", "the statement is closed");
    }
    connection.checkOpen();
  }

  final Warnings warnings() {
    return warnings;
  }

  final ResultSetKind kind() {
    return kind;
  }

  final Options options() {
    return connection.options(timeout);
  }

  final long mostRows() {
    return mostRows;
  }

  /** Whether rows are fetched some at a time: only a transaction keeps the server's cursor. */
  final boolean streams() throws SQLException {
    return fetchSize > 0 && !kind.scrolls() && !kind.held() && (connection.core.inTransaction() || !connection.getAutoCommit());
  }

  /** Runs a statement; what it answers becomes the current answers. The columns are those to return as generated keys, or null. */
  final void run(ParsedSql parsed, List<Parameter> parameters, String columns) throws SQLException {
    begin();
    ParsedSql asked = columns == null ? parsed : parsed.returning(columns);
    answers = connection.run(this, () -> new Runner(connection, this).run(asked, parameters));
    if (columns != null && parsed.isChange() && answers.size() == 1 && answers.get(0).hasRows()) {
      keys = answers.get(0);
      answers = List.of(new Answer(new dev.howdah.pg.Shape(List.of()), List.of(), null, keys.count()));
    }
  }

  /** Puts away what the last execution left. */
  final void begin() throws SQLException {
    checkOpen();
    closeResults();
    warnings.clear();
  }

  private void closeResults() throws SQLException {
    if (open != null) {
      open.release();
    }
    for (JdbcResultSet result : kept) {
      result.release();
    }
    kept = new ArrayList<>();
    open = null;
    answers = List.of();
    keys = null;
    current = 0;
  }

  private Answer answer() {
    return current < answers.size() ? answers.get(current) : null;
  }

  final boolean hasRows() {
    return answer() != null && answer().hasRows();
  }

  /** The count of the first answer; rows where none were expected are an error. */
  final long count() throws SQLException {
    for (Answer answer : answers) {
      if (answer.hasRows()) {
        throw SqlErrors.error("0100E", "the statement returned rows; use executeQuery or execute");
      }
    }
    return answers.isEmpty() ? 0 : answers.get(0).count();
  }

  /** The rows of the first answer that has some. */
  final ResultSet rows() throws SQLException {
    while (answer() != null && !answer().hasRows()) {
      current++;
    }
    if (answer() == null) {
      throw SqlErrors.error("02000", "the statement returned no rows; use executeUpdate or execute");
    }
    return getResultSet();
  }

  @Override
  public ResultSet executeQuery(String sql) throws SQLException {
    execute(sql);
    return rows();
  }

  @Override
  public boolean execute(String sql) throws SQLException {
    run(connection.parse(sql).bare(), List.of(), null);
    return hasRows();
  }

  private boolean execute(String sql, String columns) throws SQLException {
    run(connection.parse(sql).bare(), List.of(), columns);
    return hasRows();
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
    return execute(sql, columns == null || columns.length == 0 ? null : LeastConnection.quoted(columns));
  }

  private static int toInt(long count) throws SQLException {
    if (count > Integer.MAX_VALUE) {
      throw SqlErrors.error("22003", count + " rows do not fit an int; use the methods named Large");
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
  public ResultSet getResultSet() throws SQLException {
    checkOpen();
    if (!hasRows()) {
      return null;
    }
    if (open == null) {
      open = new JdbcResultSet(connection, this, answer());
    }
    return open;
  }

  @Override
  public int getUpdateCount() throws SQLException {
    return toInt(getLargeUpdateCount());
  }

  @Override
  public long getLargeUpdateCount() throws SQLException {
    checkOpen();
    return answer() == null || hasRows() ? -1 : answer().count();
  }

  @Override
  public boolean getMoreResults() throws SQLException {
    return getMoreResults(CLOSE_CURRENT_RESULT);
  }

  @Override
  public boolean getMoreResults(int rest) throws SQLException {
    checkOpen();
    if (open != null && rest == KEEP_CURRENT_RESULT) {
      kept.add(open);
    } else if (open != null) {
      open.release();
    }
    if (rest == CLOSE_ALL_RESULTS) {
      for (JdbcResultSet result : kept) {
        result.release();
      }
      kept.clear();
    }
    open = null;
    current++;
    return hasRows();
  }

  @Override
  public ResultSet getGeneratedKeys() throws SQLException {
    checkOpen();
    Answer found = keys == null ? new Answer(new dev.howdah.pg.Shape(List.of()), List.of(), null, 0) : keys;
    JdbcResultSet result = new JdbcResultSet(connection, null, found);
    kept.add(result);
    return result;
  }

  final void keys(Answer found) {
    keys = found;
  }

  @Override
  public void addBatch(String sql) throws SQLException {
    checkOpen();
    batch.add(connection.parse(sql).bare());
  }

  @Override
  public void clearBatch() throws SQLException {
    checkOpen();
    batch.clear();
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
  public long[] executeLargeBatch() throws SQLException {
    begin();
    List<Batch.Item> items = batch.stream().map(parsed -> new Batch.Item(parsed, List.of())).toList();
    batch.clear();
    return runBatch(items, false);
  }

  final long[] runBatch(List<Batch.Item> items, boolean returning) throws SQLException {
    return connection.run(this, () -> new Batch(connection, this, items).run(returning));
  }

  @Override
  public void cancel() throws SQLException {
    checkOpen();
    SqlErrors.translated(() -> connection.execution().cancel(this, connection.core));
  }

  /** A result set was closed; if it was the last the statement may be done. */
  final void completed() throws SQLException {
    if (closesOnCompletion && !closed && current + 1 >= answers.size()) {
      close();
    }
  }

  @Override
  public void close() throws SQLException {
    if (!closed) {
      closed = true;
      closeResults();
    }
  }

  @Override
  public boolean isClosed() {
    return closed || connection.isClosed();
  }

  @Override
  public void closeOnCompletion() throws SQLException {
    checkOpen();
    closesOnCompletion = true;
  }

  @Override
  public boolean isCloseOnCompletion() throws SQLException {
    checkOpen();
    return closesOnCompletion;
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
      throw SqlErrors.unsupported("cutting values to a size", "select what you need, with left() or substr()");
    }
  }

  @Override
  public int getMaxFieldSize() throws SQLException {
    checkOpen();
    return 0;
  }

  /** JDBC's escapes in braces are not processed, whatever is set. */
  @Override
  public void setEscapeProcessing(boolean wanted) throws SQLException {
    checkOpen();
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

  @Override
  public SQLWarning getWarnings() throws SQLException {
    checkOpen();
    return warnings.first();
  }

  @Override
  public void clearWarnings() throws SQLException {
    checkOpen();
    warnings.clear();
  }

  @Override
  public Connection getConnection() throws SQLException {
    checkOpen();
    return connection;
  }

  @Override
  public int getResultSetConcurrency() throws SQLException {
    checkOpen();
    return ResultSet.CONCUR_READ_ONLY;
  }

  @Override
  public int getResultSetType() throws SQLException {
    checkOpen();
    return kind.type();
  }

  @Override
  public int getResultSetHoldability() throws SQLException {
    checkOpen();
    return kind.holdability();
  }

  final int fetches() {
    return fetchSize;
  }

  @Override
  public <T> T unwrap(Class<T> wanted) throws SQLException {
    return SqlErrors.unwrap(wanted, this, connection.core);
  }

  @Override
  public boolean isWrapperFor(Class<?> wanted) {
    return wanted.isInstance(this) || wanted.isInstance(connection.core);
  }
}
