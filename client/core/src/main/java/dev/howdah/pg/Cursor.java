package dev.howdah.pg;

import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * The rows of one statement, fetched some at a time: the server works only as far as they are read.
 * The connection can do nothing else until the cursor is closed, which may be at any row.
 */
public final class Cursor implements Iterator<Row>, Iterable<Row>, AutoCloseable {
  private static final int FIRST_FETCH = 64;
  private static final int MOST_ROWS = 10_000;

  /** How many bytes of rows are fetched at a time where no number of rows is set. */
  private static final int CHUNK = 1 << 18;

  private final Executor executor;
  private final Session session;
  private final String sql;
  private final Options options;
  private final RowCollector collector = RowCollector.streamed();
  private Statement statement;
  private RowMaker maker;
  private Segment[] segments = {};
  private int segment;
  private int index;
  private boolean suspended;
  private boolean open;
  private int fetch;

  Cursor(Executor executor, String sql, Object[] parameters, Options options) {
    this.executor = executor;
    this.session = executor.session;
    this.sql = sql;
    this.options = options;
    this.fetch = options.fetchSize() > 0 ? options.fetchSize() : FIRST_FETCH;
    executor.checkFree();
    executor.hold(options);
    session.gate.begin();
    executor.occupy("an open cursor");
    open = true;
    try {
      begin(parameters, true);
    } catch (Throwable e) {
      finish();
      throw e;
    }
  }

  private void begin(Object[] parameters, boolean heal) {
    Deadline deadline = executor.deadline(options);
    char before = session.status();
    String first = before == 'I' ? options.opening() : null;
    executor.alone(first, deadline);
    statement = session.statements.find(sql, options);
    boolean cached = statement != null;
    if (!cached) {
      statement = executor.preparation.prepare(sql, options, deadline);
    }
    session.writeClosing(session.wire.output());
    int start = session.wire.output().size();
    try {
      Requests.bind(statement, parameters, session.wire.output());
      maker = statement.shape.maker(options.rows());
    } catch (Throwable e) {
      session.wire.output().truncate(start);
      session.synchronize(deadline);
      throw e;
    }
    Outcome outcome = fetch(deadline);
    if (cached && executor.discardedAsStale(statement, outcome) && heal && before == 'I') {
      executor.alone(first == null ? null : "ROLLBACK", deadline);
      begin(parameters, false);
      return;
    }
    outcome.tagOrThrow(sql, deadline);
  }

  /** Runs the portal for some rows. After an error the session is in order again. */
  private Outcome fetch(Deadline deadline) {
    Requests.execute(fetch, session.wire.output());
    session.wire.output().message('H');
    session.flush(deadline);
    Outcome outcome = new Outcome();
    collector.begin(statement.shape, maker);
    long bytes = 0;
    boolean done = false;
    while (!done) {
      int type = session.receive(deadline);
      switch (type) {
        case '2' -> outcome.bound++;
        case '3' -> {}
        case 'D' -> {
          bytes += session.wire.length();
          executor.answers.deliver(statement.shape, collector, outcome);
        }
        case 's' -> {
          suspended = true;
          done = true;
        }
        case 'C' -> {
          executor.answers.completed(session.wire.cstring(), outcome);
          suspended = false;
          done = true;
        }
        case 'I' -> {
          suspended = false;
          done = true;
        }
        case 'E' -> {
          executor.answers.failed(outcome);
          suspended = false;
          session.synchronize(deadline);
          done = true;
        }
        default -> throw session.unexpected(type, "while a cursor fetches");
      }
    }
    outcome.interrupted = session.wire.takeInterrupt();
    adapt(bytes, collector.total());
    segments = collector.take();
    segment = 0;
    index = 0;
    return outcome;
  }

  private void adapt(long bytes, long rows) {
    if (options.fetchSize() == 0 && rows > 0) {
      long average = Math.max(1, bytes / rows);
      fetch = (int) Math.max(1, Math.min(MOST_ROWS, CHUNK / average));
    }
  }

  /** Columns, names and codecs. */
  public Shape shape() {
    return statement.shape;
  }

  @Override
  public boolean hasNext() {
    while (segment >= segments.length) {
      if (!open || !suspended) {
        return false;
      }
      executor.turns.adopt();
      Deadline deadline = executor.deadline(options);
      Outcome outcome = fetch(deadline);
      if (outcome.error != null || outcome.failure != null) {
        finish();
        outcome.tagOrThrow(sql, deadline);
      }
    }
    return true;
  }

  @Override
  public Row next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    Segment current = segments[segment];
    Row row = current.row(index++);
    if (index == current.size()) {
      // Nothing here keeps the segment once its rows have passed.
      segments[segment++] = null;
      index = 0;
    }
    return row;
  }

  @Override
  public Iterator<Row> iterator() {
    return this;
  }

  /** Ends the statement in the server and frees the connection. */
  @Override
  public void close() {
    if (!open) {
      return;
    }
    try {
      if (session.isOpen()) {
        session.synchronize(executor.deadline(options));
      }
    } finally {
      finish();
    }
  }

  private void finish() {
    if (open) {
      open = false;
      segments = new Segment[0];
      segment = 0;
      executor.release();
      session.gate.end();
      executor.turns.release();
    }
  }
}
