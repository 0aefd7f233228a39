package dev.howdah.pg.jdbc;

import dev.howdah.pg.Config;
import dev.howdah.pg.Options;
import dev.howdah.pg.PgException;
import dev.howdah.pg.Result;
import java.sql.CallableStatement;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A connection as JDBC has it, over one of the client.
 *
 * <p>Threads may share it; what they do runs one after another. Without auto-commit a transaction
 * begins with its first statement, in the same write, so that a commit with nothing before it sends
 * nothing.
 */
final class JdbcConnection extends LeastConnection {
  private static final int MOST_PARSED = 256;

  final dev.howdah.pg.Connection core;
  private final Execution execution = new Execution();
  private final TransactionMode mode = new TransactionMode();
  private final ReentrantLock lock = new ReentrantLock();
  private final Catalog catalog = new Catalog(this);
  private final Map<String, ParsedSql> parsed = new LinkedHashMap<>(16, 0.75f, true);
  private volatile boolean closed;
  private volatile int networkTimeout;
  private int savepoints;

  JdbcConnection(Config config) {
    this.core =
        dev.howdah.pg.Connection.open(config.toBuilder().notices(execution::notice).build());
  }

  Execution execution() {
    return execution;
  }

  Catalog catalog() {
    return catalog;
  }

  @Override
  void checkOpen() throws SQLException {
    if (closed) {
      throw SqlErrors.error("08003", "the connection is closed");
    }
  }

  /**
   * Runs work for a statement, or for the connection itself if that is null, alone on the
   * connection.
   */
  <T> T run(JdbcStatement statement, SqlErrors.Work<T> work) throws SQLException {
    checkOpen();
    lock.lock();
    return runLocked(statement, work);
  }

  private <T> T runLocked(JdbcStatement statement, SqlErrors.Work<T> work) throws SQLException {
    try {
      execution.begin(statement);
      return SqlErrors.translated(work);
    } finally {
      execution.end();
      lock.unlock();
    }
  }

  /** How statements run that may take so many seconds; 0 is no limit but the client's own. */
  Options options(int seconds) {
    Options options = Options.DEFAULT.opening(mode.opening());
    return seconds > 0 ? options.timeout(Duration.ofSeconds(seconds)) : options;
  }

  /**
   * Tells the session what it must know before a statement outside of a transaction. Called within
   * {@link #run}.
   */
  void settle() throws SQLException {
    String pending = core.inTransaction() ? null : mode.pending();
    if (pending != null) {
      core.query(options(0), pending);
      mode.settled();
    }
  }

  /**
   * Begins a transaction, for what cannot begin one itself, unless one is begun or none is wanted.
   */
  void open() {
    if (!mode.autoCommit() && !core.inTransaction()) {
      begin();
    }
  }

  /** Begins a transaction. */
  void begin() {
    core.query(options(0).opening(null), mode.beginning());
  }

  /** Reads a statement, with its escapes written as SQL. */
  ParsedSql parse(String sql) throws SQLException {
    synchronized (parsed) {
      ParsedSql known = parsed.get(sql);
      if (known == null) {
        known = scanned(Escapes.written(sql, backslashes()));
        parsed.put(sql, known);
        if (parsed.size() > MOST_PARSED) {
          parsed.remove(parsed.keySet().iterator().next());
        }
      }
      return known;
    }
  }

  /** Reads a statement whose braces are its own. */
  ParsedSql parseUnescaped(String sql) throws SQLException {
    return sql.indexOf('{') < 0 ? parse(sql) : scanned(sql);
  }

  private ParsedSql scanned(String sql) {
    return new SqlScanner(sql, backslashes()).scan();
  }

  private boolean backslashes() {
    return "off".equals(core.parameter("standard_conforming_strings"));
  }

  /** A query of the driver's own, with the client's placeholders; it begins no transaction. */
  Result ask(String sql, Object... parameters) throws SQLException {
    return run(null, () -> core.query(options(0).opening(null), sql, parameters));
  }

  /**
   * A query of the driver's own that belongs to the transaction of the program, which begins with
   * it unless it has begun.
   */
  Result within(String sql, Object... parameters) throws SQLException {
    return run(
        null,
        () -> {
          settle();
          return core.query(options(0), sql, parameters);
        });
  }

  /**
   * A query of the driver's own as a result set that can be scrolled and has no statement to close.
   */
  ResultSet catalogQuery(String sql, Object... parameters) throws SQLException {
    Result result = ask(sql, parameters);
    return JdbcResultSet.detached(this, result);
  }

  /**
   * A type's name as SQL has it, quoted where that is needed; the caller's name may come from
   * anywhere.
   */
  String typeName(String name) throws SQLException {
    return catalog.typeName(name);
  }

  @Override
  public Statement createStatement(int type, int concurrency, int holdability) throws SQLException {
    checkOpen();
    return new JdbcStatement(this, ResultSetKind.of(type, concurrency, holdability));
  }

  @Override
  public PreparedStatement prepareStatement(String sql, int type, int concurrency, int holdability)
      throws SQLException {
    checkOpen();
    return new JdbcPreparedStatement(
        this, ResultSetKind.of(type, concurrency, holdability), parse(sql), null);
  }

  @Override
  public CallableStatement prepareCall(String sql, int type, int concurrency, int holdability)
      throws SQLException {
    checkOpen();
    CallSyntax call = CallSyntax.of(sql);
    if (call.name() != null && new TypeQueries(this).isProcedure(call.name())) {
      call = call.ofProcedure();
    }
    return new JdbcCallableStatement(
        this, ResultSetKind.of(type, concurrency, holdability), call, parse(call.sql()));
  }

  @Override
  PreparedStatement prepareReturning(String sql, String columns) throws SQLException {
    checkOpen();
    return new JdbcPreparedStatement(this, ResultSetKind.STANDARD, parse(sql), columns);
  }

  @Override
  public String nativeSQL(String sql) throws SQLException {
    checkOpen();
    return parse(sql).text();
  }

  @Override
  public void setAutoCommit(boolean wanted) throws SQLException {
    run(
        null,
        () -> {
          if (wanted != mode.autoCommit()) {
            if (core.inTransaction()) {
              core.commit();
            }
            mode.autoCommit(wanted);
          }
          return null;
        });
  }

  @Override
  public boolean getAutoCommit() throws SQLException {
    checkOpen();
    return mode.autoCommit();
  }

  private void checkManual(String what) throws SQLException {
    if (mode.autoCommit()) {
      throw SqlErrors.error(
          "25P01",
          "there is no " + what + " while auto-commit is on; call setAutoCommit(false) first");
    }
  }

  @Override
  public void commit() throws SQLException {
    run(
        null,
        () -> {
          checkManual("commit");
          if (core.inTransaction()) {
            core.commit();
          }
          return null;
        });
  }

  @Override
  public void rollback() throws SQLException {
    run(
        null,
        () -> {
          checkManual("rollback");
          if (core.inTransaction()) {
            catalog.forget();
            core.rollback();
          }
          return null;
        });
  }

  @Override
  public Savepoint setSavepoint() throws SQLException {
    return savepoint(new JdbcSavepoint(++savepoints, null));
  }

  @Override
  public Savepoint setSavepoint(String name) throws SQLException {
    if (name == null || name.isEmpty()) {
      throw SqlErrors.error(
          "3B001", "a savepoint's name must not be empty; setSavepoint() makes one without a name");
    }
    return savepoint(new JdbcSavepoint(++savepoints, name));
  }

  private Savepoint savepoint(JdbcSavepoint savepoint) throws SQLException {
    return run(
        null,
        () -> {
          checkManual("savepoint");
          open();
          core.script(options(0), "SAVEPOINT " + savepoint.quoted());
          return savepoint;
        });
  }

  @Override
  public void rollback(Savepoint savepoint) throws SQLException {
    toSavepoint("ROLLBACK TO SAVEPOINT ", savepoint);
  }

  @Override
  public void releaseSavepoint(Savepoint savepoint) throws SQLException {
    toSavepoint("RELEASE SAVEPOINT ", savepoint);
    ((JdbcSavepoint) savepoint).release();
  }

  private void toSavepoint(String command, Savepoint savepoint) throws SQLException {
    if (!(savepoint instanceof JdbcSavepoint own)) {
      throw SqlErrors.error("3B001", "the savepoint was not made by this driver");
    }
    run(
        null,
        () -> {
          checkManual("savepoint");
          catalog.forget();
          return core.script(options(0), command + own.quoted());
        });
  }

  private void checkBetween(String what) throws SQLException {
    if (core.inTransaction()) {
      throw SqlErrors.error(
          "25001", what + " cannot be changed inside a transaction; commit or roll back first");
    }
  }

  @Override
  public void setReadOnly(boolean wanted) throws SQLException {
    run(
        null,
        () -> {
          if (wanted != mode.readOnly()) {
            checkBetween("read-only");
            mode.readOnly(wanted);
          }
          return null;
        });
  }

  @Override
  public boolean isReadOnly() throws SQLException {
    checkOpen();
    return mode.readOnly();
  }

  @Override
  public void setTransactionIsolation(int level) throws SQLException {
    run(
        null,
        () -> {
          if (level != mode.isolation()) {
            checkBetween("the isolation level");
            mode.isolation(level);
          }
          return null;
        });
  }

  @Override
  public int getTransactionIsolation() throws SQLException {
    checkOpen();
    if (mode.isolation() >= 0) {
      return mode.isolation();
    }
    return TransactionMode.level(
        ask("select current_setting('default_transaction_isolation')").get(0).getString(0));
  }

  @Override
  public boolean isValid(int seconds) throws SQLException {
    if (seconds < 0) {
      throw SqlErrors.error("22023", "isValid takes 0 or more seconds, not " + seconds);
    }
    if (isClosed()) {
      return false;
    }
    try {
      if (seconds == 0) {
        return run(null, () -> isAlive(options(0)));
      }
      long end = System.nanoTime() + Duration.ofSeconds(seconds).toNanos();
      return lockedBy(end)
          && runLocked(
              null,
              () ->
                  isAlive(
                      options(0)
                          .closeAfter(Duration.ofNanos(Math.max(1, end - System.nanoTime())))));
    } catch (SQLException e) {
      return false;
    }
  }

  /** Waits for the other threads' statements until then; returns whether they have ended. */
  private boolean lockedBy(long end) {
    try {
      return lock.tryLock() || lock.tryLock(end - System.nanoTime(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /**
   * One round trip with nothing in it. Inside a failed transaction the server refuses even that,
   * and so lives.
   */
  private boolean isAlive(Options options) {
    try {
      core.query(options.opening(null), "");
      return true;
    } catch (PgException e) {
      return e.sqlState().equals("25P02");
    }
  }

  @Override
  public void setNetworkTimeout(Executor executor, int milliseconds) throws SQLException {
    checkOpen();
    if (milliseconds < 0) {
      throw SqlErrors.error("22023", "a timeout is 0 or more milliseconds, not " + milliseconds);
    }
    core.networkLimit(Duration.ofMillis(milliseconds));
    networkTimeout = milliseconds;
  }

  @Override
  public int getNetworkTimeout() throws SQLException {
    checkOpen();
    return networkTimeout;
  }

  @Override
  public DatabaseMetaData getMetaData() throws SQLException {
    checkOpen();
    return new JdbcDatabaseMetaData(this);
  }

  @Override
  public SQLWarning getWarnings() throws SQLException {
    checkOpen();
    return execution.warnings().first();
  }

  @Override
  public void clearWarnings() throws SQLException {
    checkOpen();
    execution.warnings().clear();
  }

  @Override
  public void close() {
    closed = true;
    core.close();
  }

  @Override
  public boolean isClosed() {
    return closed || !core.isOpen();
  }

  /** Closes the socket at once; a statement that runs in another thread ends with an error. */
  @Override
  public void abort(Executor executor) throws SQLException {
    if (executor == null) {
      throw SqlErrors.error("22023", "abort needs an executor");
    }
    closed = true;
    executor.execute(core::close);
  }

  @Override
  public <T> T unwrap(Class<T> wanted) throws SQLException {
    return SqlErrors.unwrap(wanted, this, core);
  }

  @Override
  public boolean isWrapperFor(Class<?> wanted) {
    return wanted.isInstance(this) || wanted.isInstance(core);
  }

  @Override
  JdbcConnection self() {
    return this;
  }
}
