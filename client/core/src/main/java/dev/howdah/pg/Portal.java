package dev.howdah.pg;

/**
 * The rows of one statement, fetched some at a time, while other statements run in between. A
 * portal lives in its transaction and ends with it; a {@link Cursor} needs no transaction, but has
 * the connection to itself.
 */
public final class Portal implements AutoCloseable {
  private final Connection connection;
  private final Executor executor;
  private final Session session;
  private final String sql;
  private final Options options;
  private final String name;
  private final RowCollector collector = RowCollector.kept();
  private Statement statement;
  private RowMaker maker;
  private Result first;
  private String tag = "";
  private long era;
  private boolean open = true;
  private boolean suspended;

  Portal(
      Connection connection, Executor executor, String sql, Object[] parameters, Options options) {
    this.connection = connection;
    this.executor = executor;
    this.session = executor.session;
    this.sql = sql;
    this.options = options;
    this.name = "howdah_portal_" + session.nextPortal();
    if (session.status() == 'I' && options.opening() == null) {
      throw new PgException("25P01", "a portal needs a transaction; begin one, or use a cursor");
    }
    first = occupied(deadline -> begin(parameters, deadline, true));
    era = session.ended();
  }

  private interface Work {
    Result run(Deadline deadline);
  }

  private Result occupied(Work work) {
    executor.checkFree();
    Deadline deadline = executor.deadline(options);
    session.gate.begin();
    executor.occupy("a portal's rows that are being read");
    try {
      return work.run(deadline);
    } finally {
      executor.release();
      session.gate.end();
    }
  }

  private Result begin(Object[] parameters, Deadline deadline, boolean heal) {
    boolean opens = session.status() == 'I';
    executor.alone(opens ? options.opening() : null, deadline);
    statement = session.statements.find(sql, options);
    boolean cached = statement != null;
    if (!cached) {
      statement = executor.preparation.prepare(sql, options, deadline);
    }
    int start = session.wire.output().size();
    try {
      session.writeClosing(session.wire.output());
      Requests.bind(statement, name, parameters, session.wire.output());
      maker = statement.shape.maker(options.rows());
    } catch (Throwable e) {
      session.wire.output().truncate(start);
      session.synchronize(deadline);
      throw e;
    }
    Outcome outcome = fetch(deadline);
    if (cached && executor.discardedAsStale(statement, outcome) && opens && heal) {
      executor.alone("ROLLBACK", deadline);
      return begin(parameters, deadline, false);
    }
    return result(outcome, deadline);
  }

  private Outcome fetch(Deadline deadline) {
    Requests.execute(name, Math.max(1, options.fetchSize()), session.wire.output());
    session.wire.output().message('S');
    session.flush(deadline);
    collector.begin(statement.shape, maker);
    suspended = false;
    return read(deadline);
  }

  private Outcome read(Deadline deadline) {
    Outcome outcome = new Outcome();
    RowSink sink = collector;
    while (true) {
      int type = session.receive(deadline);
      switch (type) {
        case '2' -> outcome.bound++;
        case '3', 'I' -> {}
        case 'D' -> sink = executor.answers.deliver(statement.shape, sink, outcome);
        case 's' -> suspended = true;
        case 'C' -> executor.answers.completed(session.wire.cstring(), outcome);
        case 'E' -> executor.answers.failed(outcome);
        case 'Z' -> {
          session.ready();
          outcome.interrupted = session.wire.takeInterrupt();
          return outcome;
        }
        default -> throw session.unexpected(type, "while a portal fetches");
      }
    }
  }

  private Result result(Outcome outcome, Deadline deadline) {
    if (outcome.error != null || outcome.failure != null) {
      open = false;
    }
    tag = outcome.tagOrThrow(sql, deadline);
    return new Result(statement.shape, collector.take(), tag);
  }

  /** Columns, names and codecs. */
  public Shape shape() {
    return statement.shape;
  }

  /** What the server says was done, once all rows were fetched; empty before. */
  public String tag() {
    return tag;
  }

  /** Whether a further fetch may bring rows. */
  public boolean hasMore() {
    return first != null || suspended;
  }

  /** The next rows, as many as the options' fetch size; none at the end. */
  public Result fetch() {
    return connection.alone(
        options,
        () -> {
          if (first != null) {
            Result fetched = first;
            first = null;
            return fetched;
          }
          if (!open || !suspended) {
            return new Result(statement.shape, new Segment[0], tag);
          }
          if (session.ended() != era) {
            throw new PgException(
                "24000",
                "the transaction that the portal belonged to has ended, and the portal with it");
          }
          return occupied(deadline -> result(fetch(deadline), deadline));
        });
  }

  /** Gives up the rows that were not fetched. The server hears of it with the next statement. */
  @Override
  public void close() {
    connection.alone(
        options,
        () -> {
          if (open && suspended && session.ended() == era) {
            session.closingPortals.add(name);
          }
          open = false;
          suspended = false;
          first = null;
          return null;
        });
  }
}
