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
 * A connection to PostgreSQL. Threads may share it, virtual ones included: statements of several
 * threads are sent without waiting for each other's answers, as long as each is prepared and a
 * transaction of its own. A transaction, a cursor, a pipeline, COPY, a script and a statement that
 * is not kept prepared yet have it alone; others wait meanwhile, in the order of their coming. A
 * {@link #begin} that is not inside {@link #transaction} is a state of the connection, and the
 * statements of all threads belong to it.
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
public final class Connection implements Source, AutoCloseable {
  private final Config config;
  private final Session session;
  private final Executor executor;
  private final Turns turns;
  private final Transactions transactions = new Transactions(this);

  /**
   * The pool that lent it, null for one that was opened. Each loan is an object of its own over the
   * same session.
   */
  private final Pool lender;

  /** The object that was opened or lent; another than this one within a transaction. */
  private final Connection origin;

  /** The thread whose transaction this object is for; null if it is for no transaction. */
  private final Thread owner;

  /**
   * Whether the origin was given back to the pool; what it stands for may be another borrower's by
   * now.
   */
  private volatile boolean returned;

  /** A connection over a session that has begun. */
  Connection(Config config, Session session) {
    this.lender = null;
    this.origin = this;
    this.owner = null;
    this.config = config;
    this.session = session;
    this.executor = new Executor(session);
    this.turns = executor.turns;
  }

  private Connection(Connection other, Pool lender, Thread owner) {
    this.lender = lender;
    this.origin = owner == null ? this : other.origin;
    this.owner = owner;
    this.config = other.config;
    this.session = other.session;
    this.executor = other.executor;
    this.turns = other.turns;
  }

  /** The same connection as another object, which is good for one loan. */
  Connection lentBy(Pool pool) {
    return new Connection(this, pool, null);
  }

  /**
   * The same connection for the work of a transaction. The thread has the session to itself, so
   * another thread that used it would wait for the end of the work, which most often waits for that
   * thread.
   */
  Connection ofTransaction() {
    return new Connection(this, lender, Thread.currentThread());
  }

  /** Ends the loan: whoever still has this object can do nothing with it. */
  void giveBack() {
    returned = true;
  }

  /**
   * Takes back what a loan has left behind; whether it may be lent again. What another thread still
   * does is not waited for.
   */
  boolean settle() {
    if (!executor.tryHold()) {
      return false;
    }
    try {
      if (isFree() && inTransaction()) {
        rollback();
      }
      session.onNotification(notification -> {});
      if (!session.wire.silence().isZero()) {
        session.wire.silence(Duration.ZERO);
      }
      return isFree();
    } finally {
      turns.release();
    }
  }

  /** Refuses what is asked of a connection that was given back. */
  void checkLoan() {
    if (origin.returned) {
      throw new PgException("08003", "the connection was given back to its pool; borrow another");
    }
    if (owner != null && owner != Thread.currentThread()) {
      throw new PgException(
          "55006",
          "the transaction is that of the thread "
              + owner.getName()
              + ", and the thread "
              + Thread.currentThread().getName()
              + " would wait for its end; use it on its own thread, and other connections on"
              + " others");
    }
  }

  /** Connects. */
  public static Connection open(Config config) {
    return new Connection(config, Handshake.open(config));
  }

  /** Connects by a {@link System#nanoTime} value at the latest, however long connect_timeout is. */
  static Connection open(Config config, long latest) {
    return new Connection(config, Handshake.open(config.openedBy(latest)));
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
    return alone(executor.newDeadline(options), work);
  }

  private <T> T alone(Deadline deadline, Supplier<T> work) {
    checkLoan();
    executor.hold(deadline);
    try {
      restoreEncoding();
      T value = work.get();
      session.throwHandlerFailure();
      restoreEncoding();
      return value;
    } catch (Throwable e) {
      session.addHandlerFailure(e);
      throw e;
    } finally {
      turns.release();
    }
  }

  /** Runs a statement beside those of other threads; null if it must run alone. */
  private <T> T shared(
      Options options, Deadline deadline, String sql, Object[] parameters, Harvest<T> harvest) {
    checkLoan();
    if (turns.heldByMe() || options.needsSession()) {
      return null;
    }
    executor.shared.refuseReentry();
    turns.share(deadline);
    try {
      return executor.shared.run(sql, parameters, options, deadline, harvest);
    } finally {
      turns.unshare();
      if (session.hasForeignEncoding()) {
        alone(() -> null);
      }
    }
  }

  /**
   * Java's text is Unicode, so another client_encoding could only lose characters; it is set back
   * at once.
   */
  private void restoreEncoding() {
    if (executor.isFree() && session.hasForeignEncoding() && session.status() != 'E') {
      session.takeForeignEncoding();
      executor.script("set client_encoding to 'UTF8'");
    }
  }

  @Override
  public <T> T with(Function<Connection, T> work) {
    return work.apply(this);
  }

  @Override
  public Result query(Options options, String sql, Object... parameters) {
    return run(options, sql, parameters, executor.kept(options));
  }

  /** Runs a statement beside others if it can, else alone. */
  private <T> T run(Options options, String sql, Object[] parameters, Harvest<T> harvest) {
    Deadline deadline = executor.newDeadline(options);
    T made = shared(options, deadline, sql, parameters, harvest);
    return made != null
        ? made
        : alone(deadline, () -> executor.run(sql, parameters, options, harvest));
  }

  @Override
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
      return alone(
          options,
          () -> {
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

  /**
   * Opens a portal over the rows of a statement, inside a transaction. Other statements may run
   * between its fetches.
   */
  public Portal portal(Options options, String sql, Object... parameters) {
    return alone(options, () -> new Portal(this, executor, sql, parameters, options));
  }

  /** What a statement takes and returns. It is prepared and not run. */
  public Description describe(String sql) {
    return alone(() -> Description.ask(executor, sql, Options.DEFAULT));
  }

  /**
   * A pipeline of statements; close it, or get an answer, before the connection does anything else.
   * One thread uses it.
   */
  public Pipeline pipeline() {
    return pipeline(Options.DEFAULT);
  }

  /** A pipeline whose statements run in a certain way. */
  public Pipeline pipeline(Options options) {
    return new Pipeline(this, executor, options);
  }

  /** What a reducing function returns to end early. */
  public record Reduced(Object value) {}

  @Override
  @SuppressWarnings("unchecked")
  public <A> A reduce(
      Options options,
      A start,
      BiFunction<A, Row, Object> function,
      String sql,
      Object... parameters) {
    return alone(
        options,
        () -> {
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

  @Override
  public long writeJson(Options options, OutputStream out, String sql, Object... parameters) {
    return write(options, Shape::json, out, sql, parameters);
  }

  @Override
  public byte[] json(Options options, String sql, Object... parameters) {
    return run(options, sql, parameters, executor.written(Shape::json));
  }

  @Override
  public long writeEdn(Options options, OutputStream out, String sql, Object... parameters) {
    return write(options, EdnRows::new, out, sql, parameters);
  }

  @Override
  public long writeCsv(Options options, OutputStream out, String sql, Object... parameters) {
    return write(options, CsvRows::new, out, sql, parameters);
  }

  private long write(
      Options options,
      RowNotation.Factory notation,
      OutputStream out,
      String sql,
      Object[] parameters) {
    return alone(
        options, () -> executor.run(sql, parameters, options, executor.streamed(notation, out)));
  }

  @Override
  public long copyIn(Options options, String sql, InputStream data) {
    return alone(options, () -> new Copy(executor, sql).in(data, options));
  }

  @Override
  public long copyIn(
      Options options,
      String sql,
      CopyFormat format,
      List<String> types,
      Iterable<? extends List<?>> rows) {
    return alone(
        options,
        () ->
            new Copy(executor, sql)
                .in(RowSource.of(executor, format, types, rows, options), options));
  }

  @Override
  public long copyOut(Options options, String sql, OutputStream target) {
    return alone(options, () -> new Copy(executor, sql).out(target, options));
  }

  @Override
  public long copyOut(Options options, CopyFormat format, String query, Consumer<Row> action) {
    return alone(
        options,
        () -> {
          Shape shape = executor.shape(query, options).mapped(format);
          // On a line of its own, where a comment at the query's end does not hide it.
          return new Copy(
                  executor, "COPY (" + query + "\n) TO STDOUT (FORMAT " + format.option() + ")")
              .out(CopyReader.of(format, executor.session, shape, options, action), options);
        });
  }

  /** Begins a transaction. */
  public void begin(TransactionOptions options) {
    checkLoan();
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
    checkLoan();
    return session.status() != 'I';
  }

  /** Whether the transaction has failed, so that it can only be rolled back. */
  public boolean transactionFailed() {
    checkLoan();
    return session.status() == 'E';
  }

  @Override
  public <T> T transaction(TransactionOptions options, Function<Connection, T> work) {
    checkLoan();
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

  /** The same, and no interrupt of the thread cancels it. */
  void commandToItsEnd(String sql) {
    alone(
        () -> {
          session.wire.patient(true);
          try {
            return executor.script(sql);
          } finally {
            session.wire.patient(false);
          }
        });
  }

  /** Gives up a connection whose transaction cannot be ended: nobody could use it any more. */
  void abandon() {
    session.close();
  }

  /**
   * Receives what NOTIFY sends to the channels that this connection listens to. The handler runs on
   * whichever thread reads the connection: the one of a statement, or of {@link
   * #awaitNotifications}.
   */
  public void onNotification(Consumer<Notification> handler) {
    checkLoan();
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

  /**
   * Waits until something has come from the server or the time is over, and hands on what has come.
   */
  public void awaitNotifications(Duration limit) {
    alone(
        () -> {
          executor.checkFree();
          session.receiveAside(System.nanoTime() + limit.toNanos());
          return null;
        });
  }

  /**
   * Cancels the statement that runs, from any thread; of those that threads have on their way at
   * once, the first. It ends with SQLSTATE 57014 unless it ends first. No other statement can be
   * hit: what runs alone is sent only when the server has dealt with the cancel, and a shared one
   * that was hit is run again.
   *
   * @return whether a statement was running
   */
  public boolean cancel() {
    return session.cancel(() -> !origin.returned);
  }

  /**
   * How long the server may be silent while something waits for it, before the connection is closed
   * with a {@link ConnectionException}; zero, which is the default, for ever. Every wait has this
   * limit, also of what ends a transaction; only a wait for notifications is without. A query that
   * runs for so long without a row counts as silence, a result that takes longer to arrive does
   * not. From any thread; what is waited for already has that long from now on. A connection of a
   * pool has the limit until it is given back.
   */
  public void networkLimit(Duration limit) {
    checkLoan();
    if (limit.isNegative()) {
      throw new PgException("22023", "a limit of the network must not be negative: " + limit);
    }
    session.wire.silence(limit);
  }

  /** Whether the connection can be used as far as is known without asking the server. */
  public boolean isOpen() {
    return !origin.returned && session.isOpen();
  }

  /**
   * Whether nothing has come that tells of its end: a look at the socket, without waiting. For one
   * that nobody uses.
   */
  boolean looksAlive() {
    try {
      return session.isOpen() && !session.isAnswering();
    } catch (ConnectionException e) {
      return false;
    }
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

  /**
   * How many statements of threads that share the connection were sent and have not been answered.
   */
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

  /** Where it leads, the server's process, and what state it is in. */
  @Override
  public String toString() {
    String state =
        !isOpen()
            ? "closed"
            : switch (session.status()) {
              case 'I' -> "idle";
              case 'T' -> "in a transaction";
              default -> "in a transaction that has failed";
            };
    return "Connection[" + config + ", process " + session.process() + ", " + state + "]";
  }

  /**
   * Closes the connection, or gives it back to the pool that lent it; rows that were read stay
   * readable.
   */
  @Override
  public void close() {
    if (lender != null) {
      lender.takeBack(origin);
    } else {
      end();
    }
  }

  private void end() {
    if (executor.tryHold()) {
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
