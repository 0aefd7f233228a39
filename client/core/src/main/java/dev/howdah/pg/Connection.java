package dev.howdah.pg;

import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A connection to PostgreSQL. Threads may share it, virtual ones included: statements of several threads are
 * sent without waiting for each other's answers, as long as each is prepared and a transaction of its own. A
 * transaction, a cursor, a pipeline, COPY, a script and a statement that is new to the connection have it
 * alone; others wait meanwhile, in the order of their coming. A {@link #begin} that is not inside {@link
 * #transaction} is a state of the connection, and the statements of all threads belong to it.
 *
 * <pre>{@code
 * try (var connection = Connection.open(Config.parse("postgresql://app@localhost/app"))) {
 *   for (Row row : connection.query("select id, email from users where id > $1", 100)) {
 *     long id = row.getLong(0);
 *   }
 * }
 * }</pre>
 *
 * <p>What goes wrong is a {@link PgException}: {@link ServerException} for what the server refuses,
 * {@link PgTimeoutException} for limits, {@link ConnectionException} when the connection is gone.
 */
public final class Connection implements AutoCloseable {
  private final Config config;
  private final Session session;
  private final Executor executor;
  private final Turns turns;
  private final Transactions transactions = new Transactions(this);

  private Connection(Config config, Session session) {
    this.config = config;
    this.session = session;
    this.executor = new Executor(session);
    this.turns = executor.turns;
  }

  private Connection(Connection other) {
    this.config = other.config;
    this.session = other.session;
    this.executor = other.executor;
    this.turns = other.turns;
  }

  /** The same connection as another object, so that each loan of a {@link Pool} can be told from the one before. */
  Connection again() {
    return new Connection(this);
  }

  /** Connects. */
  public static Connection open(Config config) {
    return new Connection(config, Handshake.open(config));
  }

  /** Connects to what a URI or a libpq connection string names. */
  public static Connection open(String source) {
    return open(Config.parse(source));
  }

  /** Runs work that has the session to itself, when those who came before are done. */
  private <T> T alone(Supplier<T> work) {
    return alone(Options.DEFAULT, work);
  }

  <T> T alone(Options options, Supplier<T> work) {
    executor.hold(options);
    try {
      restoreEncoding();
      T value = work.get();
      session.throwHandlerFailure();
      restoreEncoding();
      return value;
    } finally {
      turns.release();
    }
  }

  /** Runs a statement beside those of other threads; null if it must run alone. */
  private <T> T shared(Options options, String sql, Object[] parameters, Harvest<T> harvest) {
    if (turns.heldByMe() || options.needsSession()) {
      return null;
    }
    executor.shared.refuseReentry();
    turns.share(executor.limit(options));
    try {
      return executor.shared.run(sql, parameters, options, harvest);
    } finally {
      turns.unshare();
      if (session.hasForeignEncoding()) {
        alone(() -> null);
      }
    }
  }

  /** Java's text is Unicode, so another client_encoding could only lose characters; it is set back at once. */
  private void restoreEncoding() {
    if (executor.isFree() && session.hasForeignEncoding() && session.status() != 'E') {
      session.takeForeignEncoding();
      executor.script("set client_encoding to 'UTF8'");
    }
  }

  /** Runs a statement and returns all its rows. Parameters are $1, $2 and so on. */
  public Result query(String sql, Object... parameters) {
    return query(Options.DEFAULT, sql, parameters);
  }

  /** Runs a statement in a certain way and returns all its rows. */
  public Result query(Options options, String sql, Object... parameters) {
    return run(options, sql, parameters, executor.kept(options));
  }

  /** Runs a statement beside others if it can, else alone. */
  private <T> T run(Options options, String sql, Object[] parameters, Harvest<T> harvest) {
    T made = shared(options, sql, parameters, harvest);
    return made != null ? made : alone(options, () -> executor.run(sql, parameters, options, harvest));
  }

  /** Runs a statement; returns the number of rows it inserted, updated, deleted or returned. */
  public long execute(String sql, Object... parameters) {
    return query(sql, parameters).count();
  }

  /** The first row of a statement, with bytes of its own, or null. */
  public Row first(String sql, Object... parameters) {
    return query(sql, parameters).first();
  }

  /** Runs several statements without parameters, separated by semicolons; values come as text. */
  public List<Result> script(String sql) {
    return script(Options.DEFAULT, sql);
  }

  /** Runs several statements in a certain way, see {@link #script(String)}. */
  public List<Result> script(Options options, String sql) {
    return alone(options, () -> new Script(executor).run(sql, options));
  }

  /** Opens a cursor over the rows of a statement. Close it. */
  public Cursor cursor(String sql, Object... parameters) {
    return cursor(Options.DEFAULT, sql, parameters);
  }

  /** Opens a cursor that fetches as the options say. Close it. */
  public Cursor cursor(Options options, String sql, Object... parameters) {
    Cursor[] opened = new Cursor[1];
    try {
      return alone(options, () -> {
        opened[0] = new Cursor(executor, sql, parameters, options);
        return opened[0];
      });
    } catch (RuntimeException e) {
      // A handler of notices threw; nobody has the cursor who could close it.
      if (opened[0] != null) {
        opened[0].close();
      }
      throw e;
    }
  }

  /** Opens a portal over the rows of a statement, inside a transaction. Other statements may run between its fetches. */
  public Portal portal(Options options, String sql, Object... parameters) {
    return alone(options, () -> new Portal(this, executor, sql, parameters, options));
  }

  /** What a statement takes and returns. It is prepared and not run. */
  public Description describe(String sql) {
    return alone(() -> Description.ask(executor, sql, Options.DEFAULT));
  }

  /** A pipeline of statements; close it, or get an answer, before the connection does anything else. One thread uses it. */
  public Pipeline pipeline() {
    return pipeline(Options.DEFAULT);
  }

  /** A pipeline whose statements run in a certain way. */
  public Pipeline pipeline(Options options) {
    return new Pipeline(executor, options);
  }

  /** What a reducing function returns to end early. */
  public record Reduced(Object value) {}

  /**
   * Reduces the rows as they come, some at a time, in memory that does not grow with their number. The
   * function may end early by returning a {@link Reduced}; the server then stops too.
   */
  @SuppressWarnings("unchecked")
  public <A> A reduce(Options options, A start, BiFunction<A, Row, Object> function, String sql, Object... parameters) {
    return alone(options, () -> {
      Object state = start;
      try (Cursor cursor = new Cursor(executor, sql, parameters, options)) {
        while (cursor.hasNext()) {
          state = function.apply((A) state, cursor.next());
          if (state instanceof Reduced reduced) {
            return (A) reduced.value();
          }
        }
      }
      return (A) state;
    });
  }

  /** Hands each row to the action as it comes, in memory that does not grow with their number. */
  public void forEach(Consumer<Row> action, String sql, Object... parameters) {
    reduce(Options.DEFAULT, null, (nothing, row) -> {
      action.accept(row);
      return null;
    }, sql, parameters);
  }

  /**
   * Writes the rows as a JSON array of objects while they come, straight from the wire: no row is kept and
   * no value is decoded. A slow reader of the stream slows the server down. Returns the number of rows.
   */
  public long writeJson(OutputStream out, String sql, Object... parameters) {
    return writeJson(Options.DEFAULT, out, sql, parameters);
  }

  /** Writes the rows as JSON, see {@link #writeJson(OutputStream, String, Object...)}. */
  public long writeJson(Options options, OutputStream out, String sql, Object... parameters) {
    return write(options, Shape::json, out, sql, parameters);
  }

  /**
   * The rows as a JSON array of objects, in UTF-8 and in memory: for a body whose length must be known. As no
   * reader of a stream can be slow here, threads that share the connection run it beside each other, as
   * {@link #query(String, Object...)}.
   */
  public byte[] json(String sql, Object... parameters) {
    return json(Options.DEFAULT, sql, parameters);
  }

  /** The rows as JSON in memory, see {@link #json(String, Object...)}. */
  public byte[] json(Options options, String sql, Object... parameters) {
    return run(options, sql, parameters, executor.written(Shape::json));
  }

  /**
   * Writes the rows as an EDN vector of maps while they come, straight from the wire: uuid as #uuid,
   * timestamptz as #inst, json as data. Returns the number of rows.
   */
  public long writeEdn(OutputStream out, String sql, Object... parameters) {
    return writeEdn(Options.DEFAULT, out, sql, parameters);
  }

  /** Writes the rows as EDN, see {@link #writeEdn(OutputStream, String, Object...)}. */
  public long writeEdn(Options options, OutputStream out, String sql, Object... parameters) {
    return write(options, EdnRows::new, out, sql, parameters);
  }

  private long write(Options options, RowNotation.Factory notation, OutputStream out, String sql, Object[] parameters) {
    return alone(options, () -> executor.run(sql, parameters, options, executor.streamed(notation, out)));
  }

  /**
   * Writes the rows as CSV while they come: a line of names, then a line for each row, as the server's own
   * COPY ... TO STDOUT (FORMAT csv, HEADER) would, with parameters. Null is empty, an empty text is quoted.
   * Returns the number of rows.
   */
  public long writeCsv(OutputStream out, String sql, Object... parameters) {
    return writeCsv(Options.DEFAULT, out, sql, parameters);
  }

  /** Writes the rows as CSV, see {@link #writeCsv(OutputStream, String, Object...)}. */
  public long writeCsv(Options options, OutputStream out, String sql, Object... parameters) {
    return write(options, CsvRows::new, out, sql, parameters);
  }

  /** Runs COPY ... FROM STDIN with the bytes of a stream, in the format the statement names; returns the number of rows. */
  public long copyIn(String sql, InputStream source) {
    return alone(() -> new Copy(executor, sql).in(source, Options.DEFAULT));
  }

  /**
   * Runs COPY ... FROM STDIN WITH (FORMAT binary) with rows of values. COPY does not say what the columns'
   * types are, so their names are given. Returns the number of rows.
   */
  public long copyIn(String sql, List<String> types, Iterable<? extends List<?>> rows) {
    return copyIn(sql, CopyFormat.BINARY, types, rows);
  }

  /** Runs COPY ... FROM STDIN with rows of values, as {@link #copyIn(String, List, Iterable)}, in the format that the statement names. */
  public long copyIn(String sql, CopyFormat format, List<String> types, Iterable<? extends List<?>> rows) {
    return alone(() -> new Copy(executor, sql).in(RowSource.of(executor, format, types, rows), Options.DEFAULT));
  }

  /** Runs COPY ... TO STDOUT into a stream, in the format the statement names; returns the number of rows. */
  public long copyOut(String sql, OutputStream target) {
    return alone(() -> new Copy(executor, sql).out(target, Options.DEFAULT));
  }

  /**
   * Runs COPY (query) TO STDOUT in a format and hands each row to the action as it comes. It costs the server
   * less than a cursor, and cannot have parameters. Returns the number of rows.
   */
  public long copyOut(CopyFormat format, String query, Consumer<Row> action) {
    return copyOut(Options.DEFAULT, format, query, action);
  }

  /** Runs COPY (query) TO STDOUT in a certain way, see {@link #copyOut(CopyFormat, String, Consumer)}. */
  public long copyOut(Options options, CopyFormat format, String query, Consumer<Row> action) {
    return alone(options, () -> {
      Shape shape = executor.shape(query, options).mapped(format);
      return new Copy(executor, "COPY (" + query + ") TO STDOUT (FORMAT " + format.option() + ")")
          .out(CopyReader.of(format, shape, options, config.maxMessageBytes(), action), options);
    });
  }

  /** Begins a transaction. */
  public void begin(TransactionOptions options) {
    transactions.begin(options);
  }

  /** Commits. A transaction that has failed cannot be: it is rolled back, and that is an error. */
  public void commit() {
    transactions.commit();
  }

  /** Rolls back. */
  public void rollback() {
    transactions.rollback();
  }

  /** Whether a transaction is begun. */
  public boolean inTransaction() {
    return session.status() != 'I';
  }

  /** Whether the transaction has failed, so that it can only be rolled back. */
  public boolean transactionFailed() {
    return session.status() == 'E';
  }

  /** Runs work in a transaction: commits if it returns, rolls back if it throws. Inside another it is a savepoint. */
  public <T> T transaction(Function<Connection, T> work) {
    return transaction(TransactionOptions.DEFAULT, work);
  }

  /** Runs work in a transaction of a certain kind; the options have no meaning inside another. */
  public <T> T transaction(TransactionOptions options, Function<Connection, T> work) {
    executor.hold(Options.DEFAULT);
    try {
      return transactions.run(options, work);
    } finally {
      turns.release();
    }
  }

  /** Runs a statement without parameters and rows. */
  void command(String sql) {
    alone(() -> executor.script(sql));
  }

  /**
   * Receives what NOTIFY sends to the channels that this connection listens to. The handler runs on
   * whichever thread reads the connection: the one of a statement, or of {@link #awaitNotifications}.
   */
  public void onNotification(Consumer<Notification> handler) {
    session.onNotification(handler);
  }

  /** Listens to a channel. */
  public void listen(String channel) {
    command("LISTEN " + quoted(channel));
  }

  /** Listens to a channel no more. */
  public void unlisten(String channel) {
    command("UNLISTEN " + quoted(channel));
  }

  /** An identifier in quotes, as SQL wants it. */
  static String quoted(String identifier) {
    return '"' + identifier.replace("\"", "\"\"") + '"';
  }

  /** Waits until something has come from the server or the time is over, and hands on what has come. */
  public void awaitNotifications(Duration limit) {
    alone(() -> {
      executor.checkFree();
      session.receiveAside(System.nanoTime() + limit.toNanos());
      return null;
    });
  }

  /**
   * Cancels the statement that runs, from any thread; of those that threads have on their way at once, the
   * first. It ends with SQLSTATE 57014 unless it ends first. No other statement can be hit: what runs alone is
   * sent only when the server has dealt with the cancel, and a shared one that was hit is run again.
   *
   * @return whether a statement was running
   */
  public boolean cancel() {
    return session.cancel();
  }

  /** Whether the connection can be used as far as is known without asking the server. */
  public boolean isOpen() {
    return session.isOpen();
  }

  /** Asks the server. */
  public boolean isHealthy(Duration limit) {
    try {
      return isOpen() && query(Options.DEFAULT.timeout(limit), "select 1").size() == 1;
    } catch (PgException e) {
      return false;
    }
  }

  /** A setting that the server reports, such as server_version or TimeZone; null if it does not. */
  public String parameter(String name) {
    return session.parameter(name);
  }

  /** The number of the server's process. */
  public int process() {
    return session.process();
  }

  /** The configuration it was opened with. */
  public Config config() {
    return config;
  }

  /** How many times something was written to the socket. */
  public long writes() {
    return session.wire.writes();
  }

  /** How many statements of threads that share the connection were sent and have not been answered. */
  public int callsUnderWay() {
    return session.gate.calls();
  }

  /** How many statements are prepared. */
  public int preparedStatements() {
    return session.statements.size();
  }

  /** Whether nothing, such as a cursor that was not closed, has the connection to itself. */
  boolean isFree() {
    return executor.isFree();
  }

  /** Closes the connection; rows that were read stay readable. */
  @Override
  public void close() {
    if (turns.tryHold()) {
      try {
        session.terminate();
      } finally {
        turns.release();
      }
    } else {
      // Another thread waits for the server; closing the socket ends that.
      session.close();
    }
  }
}
