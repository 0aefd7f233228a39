package dev.howdah.pg;

import dev.howdah.pg.wire.WireOutput;
import java.util.ArrayList;
import java.util.List;

/** Runs several statements at once in the simple protocol, where values come as text. */
final class Script {
  private static final Shape NO_COLUMNS = new Shape(List.of());

  private final Executor executor;
  private final Session session;

  Script(Executor executor) {
    this.executor = executor;
    this.session = executor.session;
  }

  List<Result> run(String sql, Options options) {
    executor.checkFree();
    Deadline deadline = executor.deadline(options);
    session.gate.begin();
    executor.occupy("a script");
    try {
      send(sql, deadline);
      return read(sql, options, deadline);
    } finally {
      executor.release();
      session.gate.end();
    }
  }

  private void send(String sql, Deadline deadline) {
    WireOutput out = session.wire.output();
    int start = out.size();
    try {
      int message = out.begin('Q');
      out.cstring(sql);
      out.end(message);
    } catch (IllegalArgumentException e) {
      out.truncate(start);
      throw new PgException("22021", e.getMessage(), e);
    }
    session.flush(deadline);
  }

  private List<Result> read(String sql, Options options, Deadline deadline) {
    List<Result> results = new ArrayList<>();
    Outcome outcome = new Outcome();
    RowCollector collector = RowCollector.kept();
    KeptRows rows = new KeptRows(collector, options.rows());
    Shape shape = NO_COLUMNS;
    RowSink sink = RowSink.NONE;
    while (true) {
      int type = session.receive(deadline);
      switch (type) {
        case 'T' -> {
          shape = executor.preparation.textShape();
          sink = executor.answers.begin(shape, rows, outcome);
        }
        case 'D' -> sink = executor.answers.deliver(shape, sink, outcome);
        case 'C' -> {
          executor.answers.completed(session.wire.cstring(), outcome);
          results.add(rows.end(outcome.tag));
          rows = new KeptRows(collector, options.rows());
          shape = NO_COLUMNS;
        }
        case 'I' -> results.add(new Result(NO_COLUMNS, new Segment[0], ""));
        case 'E' -> executor.answers.failed(outcome);
        case 'G' -> refuseCopyIn(outcome, deadline);
        case 'H', 'd', 'c' -> outcome.failure = new PgException("0A000", "COPY TO STDOUT is run by copyOut");
        case 'Z' -> {
          session.ready();
          outcome.interrupted = session.wire.takeInterrupt();
          outcome.tagOrThrow(sql, deadline);
          return results;
        }
        default -> throw session.unexpected(type, "while a script runs");
      }
    }
  }

  private void refuseCopyIn(Outcome outcome, Deadline deadline) {
    outcome.failure = new PgException("0A000", "COPY FROM STDIN is run by copyIn");
    int message = session.wire.output().begin('f');
    session.wire.output().cstring("COPY FROM STDIN is run by copyIn");
    session.wire.output().end(message);
    session.flush(deadline);
  }
}
