package dev.howdah.pg;

import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;

/** Runs COPY FROM STDIN and COPY TO STDOUT. */
final class Copy {
  private static final int CHUNK = 1 << 15;

  private final Executor executor;
  private final Session session;
  private final String sql;

  Copy(Executor executor, String sql) {
    this.executor = executor;
    this.session = executor.session;
    this.sql = sql;
  }

  /**
   * Sends the order to copy; returns whether the server answers with the message that is wanted.
   */
  private boolean begin(int wanted, Outcome outcome, Deadline deadline) {
    int message = session.wire.output().begin('Q');
    session.wire.output().cstring(sql);
    session.wire.output().end(message);
    session.flush(deadline);
    int type = session.receive(deadline);
    if (type == wanted) {
      return true;
    }
    if (type == 'G') {
      refuse("not wanted", deadline);
    }
    if (type == 'E') {
      executor.answers.failed(outcome);
    } else {
      outcome.failure =
          new PgException(
              "42601", "not a COPY " + (wanted == 'G' ? "FROM STDIN" : "TO STDOUT") + ": " + sql);
    }
    if (type == 'Z') {
      session.ready();
    } else {
      drain(RowSink.NONE, outcome, deadline);
    }
    return false;
  }

  /** Reads up to where the server is ready. */
  private void drain(RowSink data, Outcome outcome, Deadline deadline) {
    RowSink sink = data;
    while (true) {
      int type = session.receive(deadline);
      switch (type) {
        case 'd' -> sink = deliver(sink, outcome);
        case 'C' -> executor.answers.completed(session.wire.cstring(), outcome);
        case 'E' -> executor.answers.failed(outcome);
        case 'c', 'T', 'D', 'I', 'H' -> {}
        case 'G' -> refuse("a COPY FROM STDIN runs alone", deadline);
        case 'Z' -> {
          session.ready();
          outcome.interrupted = session.wire.takeInterrupt();
          return;
        }
        default -> throw session.unexpected(type, "while COPY runs");
      }
    }
  }

  /** Refuses to send the data of a COPY FROM STDIN, which ends it. */
  private void refuse(String why, Deadline deadline) {
    WireOutput out = session.wire.output();
    int fail = out.begin('f');
    out.cstring(why);
    out.end(fail);
    session.flush(deadline);
  }

  /**
   * Whoever cannot take the data gets no more: COPY is cancelled, unless the data were such that
   * the session was closed.
   */
  private RowSink deliver(RowSink sink, Outcome outcome) {
    try {
      sink.row(session.wire);
      return sink;
    } catch (Throwable e) {
      outcome.failure = PgException.unchecked("rows could not be taken", e);
      if (!session.isOpen()) {
        throw outcome.failure;
      }
      session.tryCancel();
      return RowSink.NONE;
    }
  }

  /** Writes what the server sends; returns the number of rows. */
  long out(OutputStream target, Options options) {
    return out(wire -> write(target, wire), options);
  }

  /** Hands on what the server sends, message by message; returns the number of rows. */
  long out(RowSink target, Options options) {
    return run(
        options,
        (outcome, deadline) -> {
          if (begin('H', outcome, deadline)) {
            drain(target, outcome, deadline);
          }
        });
  }

  private static void write(OutputStream target, Wire wire) {
    try {
      target.write(wire.body(), wire.offset(), wire.length());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Where the data of COPY FROM come from: fills a buffer, returns -1 at the end. */
  interface Source {
    int read(byte[] buffer, int offset, int length) throws IOException;
  }

  /** Sends what the stream holds; returns the number of rows. */
  long in(InputStream source, Options options) {
    return in(source::read, options);
  }

  long in(Source source, Options options) {
    return run(
        options,
        (outcome, deadline) -> {
          if (begin('G', outcome, deadline)) {
            send(source, outcome, deadline);
            drain(RowSink.NONE, outcome, deadline);
          }
        });
  }

  /** Sends until the source ends, or until the server answers, which can only be by an error. */
  private void send(Source source, Outcome outcome, Deadline deadline) {
    WireOutput out = session.wire.output();
    try {
      while (true) {
        int message = out.begin('d');
        byte[] room = out.room(CHUNK);
        int count = source.read(room, out.size(), CHUNK);
        checkSource(deadline);
        if (count < 0) {
          out.truncate(message - 1);
          out.message('c');
          break;
        }
        out.advance(count);
        out.end(message);
        session.flushData(deadline);
        if (session.isAnswering()) {
          break;
        }
      }
    } catch (Throwable e) {
      out.clear();
      outcome.failure =
          e instanceof IOException io
              ? new UncheckedIOException(io)
              : PgException.unchecked("the source of COPY's data failed", e);
      if (!session.isOpen()) {
        throw outcome.failure;
      }
      refuse("the client's source of data failed", deadline);
    }
    session.flushData(deadline);
  }

  /**
   * A source may take longer than the statement has, and the server cannot know: it waits, or has
   * much to do before it.
   */
  private void checkSource(Deadline deadline) {
    if (deadline.isOver() && !deadline.cancelled()) {
      session.cancelLate(deadline);
      throw new PgTimeoutException(
          "COPY passed its limit of "
              + deadline.limit()
              + " (query_timeout or the query's own timeout) before its source of data ended, and"
              + " was cancelled");
    }
  }

  private interface Work {
    void run(Outcome outcome, Deadline deadline);
  }

  private long run(Options options, Work work) {
    executor.checkFree();
    if (sql.indexOf('\0') >= 0) {
      throw new PgException("22021", "a zero character cannot be sent to PostgreSQL");
    }
    Deadline deadline = executor.deadline(options);
    Outcome outcome = new Outcome();
    session.gate.begin();
    executor.occupy("COPY");
    try {
      work.run(outcome, deadline);
    } finally {
      executor.release();
      session.gate.end();
    }
    return Result.count(outcome.tagOrThrow(sql, deadline));
  }
}
