package dev.howdah.pg;

import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;

/** Reads what the server answers to a statement, and hands its rows on. */
final class Answers {
  private final Session session;

  Answers(Session session) {
    this.session = session;
  }

  /** Reads the answer to Bind, Execute and Sync. */
  Outcome complete(Statement statement, Reception reception, Deadline deadline) {
    return complete(statement, reception, deadline, false);
  }

  /**
   * Reads the answer to Bind, Execute and Sync, before which that of an {@link Options#opening}
   * statement may stand.
   */
  Outcome complete(Statement statement, Reception reception, Deadline deadline, boolean opened) {
    boolean opening = opened;
    Outcome outcome = new Outcome();
    RowSink sink = null;
    while (true) {
      int type = session.receive(deadline);
      switch (type) {
        case 'D' -> {
          if (sink == null) {
            throw session.unexpected(type, "before the statement was bound");
          }
          sink = deliver(statement.shape, sink, outcome);
        }
        case '2' -> {
          if (opening) {
            sink = null;
          } else {
            outcome.bound++;
            sink = sink != null ? sink : begin(statement.shape, reception, outcome);
          }
        }
        case 'C' -> {
          if (!opening) {
            completed(session.wire.cstring(), outcome);
          }
          opening = false;
        }
        case '1', 'I', '3', 's' -> {}
        case 'E' -> failed(outcome);
        case 'G' -> {
          if (statement.shareable) {
            throw session.unexpected(type, "where no COPY was asked for");
          }
          refuseCopyIn(outcome, deadline);
        }
        case 'H', 'd', 'c' ->
            outcome.failure = new PgException("0A000", "COPY TO STDOUT is run by copyOut");
        case 'Z' -> {
          session.ready();
          outcome.interrupted = session.wire.takeInterrupt();
          if (!outcome.isSuccess()) {
            reception.drop();
          }
          return outcome;
        }
        default -> throw session.unexpected(type, "while a statement runs");
      }
    }
  }

  /** Asks for the sink of the rows to come. Where none can be made they are read and not kept. */
  RowSink begin(Shape shape, Reception reception, Outcome outcome) {
    try {
      return reception.begin(shape);
    } catch (Throwable e) {
      outcome.failure = PgException.unchecked("rows could not be made", e);
      return RowSink.NONE;
    }
  }

  /** Hands over one row. Whoever cannot take it gets no more: the statement is cancelled. */
  RowSink deliver(Shape shape, RowSink sink, Outcome outcome) {
    Wire wire = session.wire;
    if (!Row.wellFormed(wire.body(), wire.offset(), wire.length(), shape.size())) {
      session.close();
      throw wire.malformed("it is not a row of " + shape.size() + " columns");
    }
    try {
      sink.row(wire);
      return sink;
    } catch (Throwable e) {
      outcome.failure = PgException.unchecked("rows could not be taken", e);
      session.tryCancel();
      return RowSink.NONE;
    }
  }

  /**
   * Definitions that change may change what a statement returns and what a type is made of, so both
   * are asked for again.
   */
  void completed(String tag, Outcome outcome) {
    outcome.tag = tag;
    if (tag.startsWith("ALTER") || tag.startsWith("DROP")) {
      session.statements.invalidate();
      session.types.doubt();
    } else if (tag.equals("DISCARD ALL") || tag.startsWith("DEALLOCATE ALL")) {
      session.statements.forget();
    } else if (tag.equals("DEALLOCATE")) {
      session.statements.invalidate();
    }
  }

  /** Keeps the first error. After a fatal one the server says nothing more. */
  void failed(Outcome outcome) {
    ServerMessage message = ServerMessage.read(session.wire);
    if (message.severity().equals("FATAL") || message.severity().equals("PANIC")) {
      session.close();
      throw new ServerException(message, null);
    }
    if (outcome.error == null) {
      outcome.error = message;
    }
  }

  /** In COPY's mode the server has passed over our Sync, so another is due. */
  private void refuseCopyIn(Outcome outcome, Deadline deadline) {
    outcome.failure = new PgException("0A000", "COPY FROM STDIN is run by copyIn");
    WireOutput out = session.wire.output();
    int message = out.begin('f');
    out.cstring("COPY FROM STDIN is run by copyIn");
    out.end(message);
    out.message('S');
    session.flush(deadline);
  }
}
