package dev.howdah.pg;

import dev.howdah.pg.wire.WireOutput;
import java.util.ArrayList;
import java.util.List;

/** Runs several statements at once in the simple protocol, where values come as text. */
final class Script {
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
    } catch (IllegalArgumentException | PgException e) {
      out.truncate(start);
      throw new PgException("22021", e.getMessage(), e);
    }
    session.flush(deadline);
  }

  /** The rows of one statement, and its columns as the server described them. */
  private record Answer(List<Preparation.Described> columns, Result result) {}

  private List<Result> read(String sql, Options options, Deadline deadline) {
    List<Answer> answers = new ArrayList<>();
    List<Preparation.Described> columns = List.of();
    Outcome outcome = new Outcome();
    RowCollector collector = RowCollector.kept();
    KeptRows rows = new KeptRows(collector, options.rows());
    Shape shape = Shape.NO_ROWS;
    RowSink sink = RowSink.NONE;
    while (true) {
      int type = session.receive(deadline);
      switch (type) {
        case 'T' -> {
          columns = executor.preparation.columns();
          shape = executor.preparation.textShape(columns);
          sink = executor.answers.begin(shape, rows, outcome);
        }
        case 'D' -> sink = executor.answers.deliver(shape, sink, outcome);
        case 'C' -> {
          executor.answers.completed(session.wire.cstring(), outcome);
          answers.add(new Answer(columns, rows.end(outcome.tag)));
          rows = new KeptRows(collector, options.rows());
          columns = List.of();
          shape = Shape.NO_ROWS;
        }
        case 'I' ->
            answers.add(new Answer(List.of(), new Result(Shape.NO_ROWS, new Segment[0], "")));
        case 'E' -> executor.answers.failed(outcome);
        case 'G' -> refuseCopyIn(outcome, deadline);
        case 'H', 'd', 'c' ->
            outcome.failure = new PgException("0A000", "COPY TO STDOUT is run by copyOut");
        case 'Z' -> {
          session.ready();
          outcome.interrupted = session.wire.takeInterrupt();
          outcome.tagOrThrow(sql, deadline);
          return results(answers, options, deadline);
        }
        default -> throw session.unexpected(type, "while a script runs");
      }
    }
  }

  /**
   * The results in order. Types that are not known can only be looked up when all rows have come;
   * they are then read as those of a single statement would be, so that they do not depend on what
   * the connection has met before.
   */
  private List<Result> results(List<Answer> answers, Options options, Deadline deadline) {
    List<Preparation.Described> columns =
        answers.stream().flatMap(answer -> answer.columns().stream()).toList();
    if (!executor.preparation.learnTypes(columns, deadline)) {
      return answers.stream().map(Answer::result).toList();
    }
    return answers.stream()
        .map(
            answer ->
                answer.columns().isEmpty()
                    ? answer.result()
                    : answer
                        .result()
                        .as(executor.preparation.textShape(answer.columns()), options.rows()))
        .toList();
  }

  private void refuseCopyIn(Outcome outcome, Deadline deadline) {
    outcome.failure = new PgException("0A000", "COPY FROM STDIN is run by copyIn");
    int message = session.wire.output().begin('f');
    session.wire.output().cstring("COPY FROM STDIN is run by copyIn");
    session.wire.output().end(message);
    session.flush(deadline);
  }
}
