package dev.howdah.pg;

import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A bounded set of connections that are lent and given back. Those who wait are served in order. A
 * connection comes back rolled back, and one that is broken or too old is closed and replaced.
 *
 * <p>The methods of {@link Source} borrow a connection for the length of the call.
 */
public final class Pool implements Source, AutoCloseable {
  /**
   * How long a connection may take to show that it lives, in nanoseconds; even one whose borrower
   * has waited to its limit.
   */
  private static final long LONGEST_CHECK = 5_000_000_000L;

  private static final long SHORTEST_CHECK = 100_000_000L;

  /** How long a connection may take to be opened in any case. */
  private static final long SHORTEST_OPENING = 1_000_000_000L;

  private final Config config;
  private final Settings settings;
  private final Semaphore places;
  private final ReentrantLock lock = new ReentrantLock();

  /**
   * Idle connections, the one used last in front, so that few stay in use when there is little to
   * do.
   */
  private final ArrayDeque<Idle> idle = new ArrayDeque<>();

  /**
   * By the object that was handed out, which is another for each loan: one that was given back
   * cannot end the next.
   */
  private final Map<Connection, Loan> lent = new HashMap<>();

  private boolean closed;

  private record Idle(Connection connection, long born, long since) {}

  private record Loan(Connection connection, long born, long since, Throwable where) {}

  /**
   * How a pool behaves.
   *
   * @param size how many connections there are at most, one or more
   * @param waitLimit how long a borrower waits for one; opening it may take what is left of that, a
   *     second in any case, and connect_timeout at most
   * @param maxLifetime after how long a connection is replaced; zero for never
   * @param checkAfter after how long unused a connection is asked whether it lives before it is
   *     lent; it has what is left of the borrower's limit to answer, and at most five seconds.
   *     Whatever its age, one whose server has closed it, or has said goodbye, is not lent
   * @param leakLimit after how long a loan counts as a leak; zero for never
   * @param leaks receives a message with the place where a leaked connection was borrowed, on the
   *     thread that borrows; what it throws goes to that thread's handler of uncaught exceptions
   */
  public record Settings(
      int size,
      Duration waitLimit,
      Duration maxLifetime,
      Duration checkAfter,
      Duration leakLimit,
      Consumer<PgException> leaks) {
    /** Refuses a pool that could never lend. */
    public Settings {
      if (size < 1) {
        throw new IllegalArgumentException("a pool has one connection at least, not " + size);
      }
    }

    /**
     * Ten connections, 30 seconds to wait, an hour to live, a check after five seconds, no leak
     * detection.
     */
    public static final Settings DEFAULT =
        new Settings(
            10,
            Duration.ofSeconds(30),
            Duration.ofHours(1),
            Duration.ofSeconds(5),
            Duration.ZERO,
            leak -> {});

    /** With another number of connections. */
    public Settings size(int connections) {
      return new Settings(connections, waitLimit, maxLifetime, checkAfter, leakLimit, leaks);
    }

    /** With another limit to wait. */
    public Settings waitLimit(Duration limit) {
      return new Settings(size, limit, maxLifetime, checkAfter, leakLimit, leaks);
    }

    /** With another lifetime of connections. */
    public Settings maxLifetime(Duration limit) {
      return new Settings(size, waitLimit, limit, checkAfter, leakLimit, leaks);
    }

    /** With another time after which an unused connection is checked. */
    public Settings checkAfter(Duration limit) {
      return new Settings(size, waitLimit, maxLifetime, limit, leakLimit, leaks);
    }

    /**
     * With leak detection; loans are looked at whenever somebody borrows, and when one has waited
     * in vain.
     */
    public Settings leaks(Duration limit, Consumer<PgException> receiver) {
      return new Settings(size, waitLimit, maxLifetime, checkAfter, limit, receiver);
    }
  }

  /** A pool with the usual settings. Connections are opened when they are first needed. */
  public Pool(Config config) {
    this(config, Settings.DEFAULT);
  }

  /** A pool. */
  public Pool(Config config, Settings settings) {
    this.config = config;
    this.settings = settings;
    this.places = new Semaphore(settings.size(), true);
  }

  /**
   * Borrows a connection; {@link Connection#close} or {@link #release} gives it back, and then it
   * can do nothing more. Whoever waits longer than the limit gets an error.
   */
  public Connection borrow() {
    reportLeaks();
    long end = System.nanoTime() + settings.waitLimit().toNanos();
    await();
    try {
      while (true) {
        Idle next = takeIdle();
        if (next == null) {
          return lend(open(end), System.nanoTime());
        }
        if (usable(next, end)) {
          return lend(next.connection(), next.born());
        }
        next.connection().close();
      }
    } catch (RuntimeException | Error e) {
      places.release();
      throw e;
    }
  }

  private Connection open(long end) {
    long now = System.nanoTime();
    long latest = now + Math.max(SHORTEST_OPENING, end - now);
    try {
      return Connection.open(config, latest);
    } catch (ConnectionException e) {
      if (System.nanoTime() - latest < 0) {
        throw e;
      }
      throw new PgTimeoutException(
          "no connection of the pool was free, and none could be opened within waitLimit, "
              + settings.waitLimit().toMillis()
              + " ms",
          e);
    }
  }

  private void await() {
    try {
      if (places.tryAcquire(settings.waitLimit().toNanos(), TimeUnit.NANOSECONDS)) {
        return;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PgException(
          "57014", "the thread was interrupted while it waited for a connection of the pool", e);
    }
    // What keeps them may have been lent too recently when the wait began.
    reportLeaks();
    throw new PgTimeoutException(
        "no connection of the pool's "
            + settings.size()
            + " came free within waitLimit, "
            + settings.waitLimit().toMillis()
            + " ms");
  }

  private Idle takeIdle() {
    lock.lock();
    try {
      if (closed) {
        throw new ConnectionException("the pool is closed");
      }
      return idle.pollFirst();
    } finally {
      lock.unlock();
    }
  }

  private boolean usable(Idle candidate, long end) {
    if (isOld(candidate.born()) || !candidate.connection().looksAlive()) {
      return false;
    }
    if (!isDue(candidate) || answers(candidate.connection(), end)) {
      return true;
    }
    // What has silenced one, such as a server that is gone, has most likely silenced the others:
    // none is worth another wait.
    closeDue();
    return false;
  }

  /** Whether it was unused for so long that it must be asked before it is lent. */
  private boolean isDue(Idle candidate) {
    return System.nanoTime() - candidate.since() >= settings.checkAfter().toNanos();
  }

  /**
   * Asks the server. A borrower waits for it at most for what is left of its limit, and is not kept
   * by a cancel.
   */
  private static boolean answers(Connection connection, long end) {
    long left = Math.max(SHORTEST_CHECK, Math.min(LONGEST_CHECK, end - System.nanoTime()));
    try {
      return connection.query(Options.DEFAULT.closeAfter(Duration.ofNanos(left)), "select 1").size()
          == 1;
    } catch (PgException e) {
      return false;
    }
  }

  private void closeDue() {
    List<Idle> due;
    lock.lock();
    try {
      due = idle.stream().filter(this::isDue).toList();
      idle.removeAll(due);
    } finally {
      lock.unlock();
    }
    due.forEach(entry -> entry.connection().close());
  }

  private boolean isOld(long born) {
    return !settings.maxLifetime().isZero()
        && System.nanoTime() - born > settings.maxLifetime().toNanos();
  }

  private Connection lend(Connection connection, long born) {
    Throwable where = settings.leakLimit().isZero() ? null : new Throwable("borrowed here");
    Connection loaned = connection.lentBy(this);
    lock.lock();
    try {
      lent.put(loaned, new Loan(connection, born, System.nanoTime(), where));
      return loaned;
    } finally {
      lock.unlock();
    }
  }

  private void reportLeaks() {
    if (settings.leakLimit().isZero()) {
      return;
    }
    for (Throwable where : takeLeaks()) {
      try {
        settings
            .leaks()
            .accept(
                new PgException(
                    "53300",
                    "a connection was borrowed more than "
                        + settings.leakLimit().toMillis()
                        + " ms ago and not given back",
                    where));
      } catch (RuntimeException | Error e) {
        // The borrower has done nothing wrong, so it is not the borrower's error.
        Thread current = Thread.currentThread();
        current.getUncaughtExceptionHandler().uncaughtException(current, e);
      }
    }
  }

  /**
   * Where connections were borrowed that leak, each told once. The receiver is not called under the
   * lock: it may use the pool.
   */
  private List<Throwable> takeLeaks() {
    List<Throwable> leaks = new ArrayList<>();
    lock.lock();
    try {
      lent.replaceAll(
          (connection, loan) -> {
            if (loan.where() == null
                || System.nanoTime() - loan.since() < settings.leakLimit().toNanos()) {
              return loan;
            }
            leaks.add(loan.where());
            return new Loan(loan.connection(), loan.born(), loan.since(), null);
          });
      return leaks;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Gives a connection back. A transaction left open is rolled back; with a cursor left open, or a
   * statement of another thread on its way, it is closed. One that is not on loan is an error.
   */
  public void release(Connection connection) {
    refuseUnlessEnded(takeBack(connection, true));
  }

  /**
   * Gives back a connection that nobody should get any more, because of what was set in its
   * session: it is closed.
   */
  public void discard(Connection connection) {
    refuseUnlessEnded(takeBack(connection, false));
  }

  private static void refuseUnlessEnded(boolean ended) {
    if (!ended) {
      throw new PgException("08003", "the connection is not on loan from this pool");
    }
  }

  /** Gives a connection back, if it has not been already. */
  void takeBack(Connection loaned) {
    takeBack(loaned, true);
  }

  private boolean takeBack(Connection loaned, boolean again) {
    Loan loan = takeLoan(loaned);
    if (loan == null) {
      return false;
    }
    loaned.giveBack();
    boolean kept = false;
    try {
      kept =
          again
              && !isOld(loan.born())
              && loan.connection().settle()
              && keep(loan.connection(), loan.born());
    } catch (PgException e) {
      // It cannot be rolled back, so it is not kept.
      kept = false;
    } finally {
      if (!kept) {
        loan.connection().close();
      }
      places.release();
    }
    return true;
  }

  private Loan takeLoan(Connection connection) {
    lock.lock();
    try {
      return lent.remove(connection);
    } finally {
      lock.unlock();
    }
  }

  private boolean keep(Connection connection, long born) {
    lock.lock();
    try {
      if (!closed) {
        idle.addFirst(new Idle(connection, born, System.nanoTime()));
      }
      return !closed;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public <T> T with(Function<Connection, T> work) {
    try (Connection connection = borrow()) {
      return work.apply(connection);
    }
  }

  @Override
  public Result query(Options options, String sql, Object... parameters) {
    return with(connection -> connection.query(options, sql, parameters));
  }

  @Override
  public List<Result> script(Options options, String sql) {
    return with(connection -> connection.script(options, sql));
  }

  @Override
  public <A> A reduce(
      Options options,
      A start,
      BiFunction<A, Row, Object> function,
      String sql,
      Object... parameters) {
    return with(connection -> connection.reduce(options, start, function, sql, parameters));
  }

  @Override
  public long writeJson(Options options, OutputStream out, String sql, Object... parameters) {
    return with(connection -> connection.writeJson(options, out, sql, parameters));
  }

  @Override
  public byte[] json(Options options, String sql, Object... parameters) {
    return with(connection -> connection.json(options, sql, parameters));
  }

  @Override
  public long writeEdn(Options options, OutputStream out, String sql, Object... parameters) {
    return with(connection -> connection.writeEdn(options, out, sql, parameters));
  }

  @Override
  public long writeCsv(Options options, OutputStream out, String sql, Object... parameters) {
    return with(connection -> connection.writeCsv(options, out, sql, parameters));
  }

  @Override
  public long copyIn(Options options, String sql, InputStream data) {
    return with(connection -> connection.copyIn(options, sql, data));
  }

  @Override
  public long copyIn(
      Options options,
      String sql,
      CopyFormat format,
      List<String> types,
      Iterable<? extends List<?>> rows) {
    return with(connection -> connection.copyIn(options, sql, format, types, rows));
  }

  @Override
  public long copyOut(Options options, String sql, OutputStream target) {
    return with(connection -> connection.copyOut(options, sql, target));
  }

  @Override
  public long copyOut(Options options, CopyFormat format, String query, Consumer<Row> action) {
    return with(connection -> connection.copyOut(options, format, query, action));
  }

  @Override
  public <T> T transaction(TransactionOptions options, Function<Connection, T> work) {
    return with(connection -> connection.transaction(options, work));
  }

  /** The configuration of its connections. */
  public Config config() {
    return config;
  }

  /** How many connections are idle. */
  public int idle() {
    lock.lock();
    try {
      return idle.size();
    } finally {
      lock.unlock();
    }
  }

  /** Where it leads, and how many connections are lent and idle. */
  @Override
  public String toString() {
    lock.lock();
    try {
      return "Pool["
          + config
          + ", "
          + (closed ? "closed, " : "")
          + lent.size()
          + " of "
          + settings.size()
          + " lent, "
          + idle.size()
          + " idle]";
    } finally {
      lock.unlock();
    }
  }

  /** Closes the idle connections now, and each lent one when it is given back. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      idle.forEach(entry -> entry.connection().close());
      idle.clear();
    } finally {
      lock.unlock();
    }
  }
}
