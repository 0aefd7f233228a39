package dev.howdah.pg.jdbc;

import dev.howdah.pg.Options;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.util.ArrayList;
import java.util.List;

/** A statement: runs SQL and keeps what it answered until the next. */
class JdbcStatement extends LeastStatement {
  final JdbcConnection connection;
  private final ResultSetKind kind;
  private final Warnings warnings = new Warnings();
  private final List<ParsedSql> batch = new ArrayList<>();
  private List<Answer> answers = List.of();
  private int current;
  private JdbcResultSet open;
  private List<JdbcResultSet> kept = new ArrayList<>();
  private Answer keys;
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

  @Override
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
    return connection.options(timeout());
  }

  /** Whether rows are fetched some at a time: only a transaction keeps the server's cursor. */
  final boolean streams() throws SQLException {
    return fetches() > 0
        && !kind.scrolls()
        && !kind.held()
        && !kind.updatable()
        && (connection.core.inTransaction() || !connection.getAutoCommit());
  }

  /**
   * Runs a statement; what it answers becomes the current answers. The columns are those to return
   * as generated keys, or null.
   */
  final void run(ParsedSql parsed, List<Parameter> parameters, String columns) throws SQLException {
    begin();
    ParsedSql asked = columns == null ? parsed : parsed.returning(columns);
    answers = connection.run(this, () -> new Runner(connection, this).run(asked, parameters));
    if (columns != null && parsed.isChange() && answers.size() == 1 && answers.get(0).hasRows()) {
      keys = answers.get(0);
      answers =
          List.of(new Answer(new dev.howdah.pg.Shape(List.of()), List.of(), null, keys.count()));
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

  private ParsedSql parse(String sql) throws SQLException {
    checkOpen();
    return (processesEscapes() ? connection.parse(sql) : connection.parseUnescaped(sql)).bare();
  }

  private Answer answer() {
    return current < answers.size() ? answers.get(current) : null;
  }

  final boolean hasRows() {
    return answer() != null && answer().hasRows();
  }

  /** The count of the first answer; rows where none were expected are an error. */
  @Override
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
      throw SqlErrors.error(
          "02000", "the statement returned no rows; use executeUpdate or execute");
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
    run(parse(sql), List.of(), null);
    return hasRows();
  }

  @Override
  boolean execute(String sql, String columns) throws SQLException {
    run(parse(sql), List.of(), columns);
    return hasRows();
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
  public long getLargeUpdateCount() throws SQLException {
    checkOpen();
    return answer() == null || hasRows() ? -1 : answer().count();
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
    Answer found =
        keys == null ? new Answer(new dev.howdah.pg.Shape(List.of()), List.of(), null, 0) : keys;
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
    batch.add(parse(sql));
  }

  @Override
  public void clearBatch() throws SQLException {
    checkOpen();
    batch.clear();
  }

  @Override
  public long[] executeLargeBatch() throws SQLException {
    begin();
    List<Batch.Item> items =
        batch.stream().map(parsed -> new Batch.Item(parsed, List.of())).toList();
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
    return kind.concurrency();
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

  @Override
  public <T> T unwrap(Class<T> wanted) throws SQLException {
    return SqlErrors.unwrap(wanted, this, connection.core);
  }

  @Override
  public boolean isWrapperFor(Class<?> wanted) {
    return wanted.isInstance(this) || wanted.isInstance(connection.core);
  }
}
