package dev.howdah.pg;

import dev.howdah.pg.wire.WireOutput;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;

/**
 * Runs statements in the extended protocol.
 *
 * <p>A statement that is cached costs one write: Bind, Execute and Sync together, with no Describe,
 * because what it returns is known. A new one is parsed and described first, in a write of its own
 * that ends with Flush and not with Sync: behind a pooler Sync would be the place where the
 * server's session may change.
 */
final class Executor {
  final Session session;
  final Turns turns = new Turns();
  final SharedPipeline shared;
  final Answers answers;
  final Preparation preparation;

  /**
   * Collects the rows that are kept, and holds text that rows are written as: one statement's at a
   * time.
   */
  private final RowCollector collector = RowCollector.kept();

  private final WireOutput text = new WireOutput(1 << 10);

  /**
   * What has the session to itself over several calls, such as an open cursor; null if nothing has.
   */
  private String occupied;

  /**
   * The deadline by which the session's holder has waited for it, for its first statement; null
   * once that has begun.
   */
  private Deadline awaited;

  Executor(Session session) {
    this.session = session;
    this.shared = new SharedPipeline(this);
    this.answers = new Answers(session);
    this.preparation = new Preparation(this);
  }

  /**
   * Takes the session alone, when those who came before are done; {@link Turns#release} gives it
   * back.
   */
  void hold(Options options) {
    hold(newDeadline(options));
  }

  /** The same for a statement whose limit counts already. */
  void hold(Deadline deadline) {
    shared.refuseReentry();
    boolean nested = turns.heldByMe();
    turns.hold(deadline);
    if (!nested) {
      awaited = deadline;
    }
  }

  /** Takes the session alone if nobody has it; returns whether it did. */
  boolean tryHold() {
    boolean nested = turns.heldByMe();
    boolean held = turns.tryHold();
    if (held && !nested) {
      awaited = null;
    }
    return held;
  }

  /** Refuses to go on while something else has the session, or when it is closed. */
  void checkFree() {
    if (occupied != null) {
      throw new PgException(
          "55006", "the connection is busy with " + occupied + "; finish or close it first");
    }
    if (!session.isOpen()) {
      throw new ConnectionException("the connection is closed");
    }
  }

  /** Whether a statement could be run now. */
  boolean isFree() {
    return occupied == null && session.isOpen();
  }

  void occupy(String what) {
    occupied = what;
    turns.purpose(what);
  }

  void release() {
    occupied = null;
    session.closeIfTorn();
  }

  /**
   * The deadline of a statement that the session's holder begins: if it is its first, the wait for
   * the session counts.
   */
  Deadline deadline(Options options) {
    Deadline begun = awaited;
    awaited = null;
    return begun != null && begun.isFor(limit(options), options.closing())
        ? begun
        : newDeadline(options);
  }

  /** The deadline of a statement that counts from now. */
  Deadline newDeadline(Options options) {
    return Deadline.after(limit(options), options.closing());
  }

  Duration limit(Options options) {
    return options.timeout() != null ? options.timeout() : session.config.queryTimeout();
  }

  /** Keeps the rows of a statement. */
  Harvest<Result> kept(Options options) {
    return new KeptRows(collector, options.rows());
  }

  /** Writes the rows of a statement into memory. */
  Harvest<byte[]> written(RowNotation.Factory notation) {
    return new WrittenRows(notation, text);
  }

  /** Writes the rows of a statement to a stream while they come. */
  Harvest<Long> streamed(RowNotation.Factory notation, OutputStream target) {
    return new RowWriter(notation, target, text);
  }

  /**
   * The columns that a statement returns, asked anew because they may have changed, without running
   * it.
   */
  Shape shape(String sql, Options options) {
    checkFree();
    Deadline deadline = deadline(options);
    session.gate.begin();
    occupy("a statement that is being described");
    try {
      Statement known = session.statements.find(sql, options);
      if (known != null) {
        session.statements.remove(known);
      }
      Statement described = preparation.prepare(sql, options, deadline);
      session.synchronize(deadline);
      return described.shape;
    } finally {
      release();
      session.gate.end();
    }
  }

  /** Runs a statement and keeps its rows. */
  Result query(String sql, Object[] parameters, Options options) {
    return run(sql, parameters, options, kept(options));
  }

  /** Runs a statement; returns what is made of its rows. */
  <T> T run(String sql, Object[] parameters, Options options, Harvest<T> harvest) {
    checkFree();
    Deadline deadline = deadline(options);
    session.gate.begin();
    occupy("a statement whose rows are being read");
    try {
      return harvest.end(attempt(sql, parameters, options, harvest, deadline, true));
    } finally {
      release();
      session.gate.end();
    }
  }

  private String attempt(
      String sql,
      Object[] parameters,
      Options options,
      Reception reception,
      Deadline deadline,
      boolean heal) {
    char before = session.status();
    String first = before == 'I' ? options.opening() : null;
    Statement statement = session.statements.find(sql, options);
    boolean cached = statement != null;
    if (!cached) {
      alone(first, deadline);
      statement = preparation.prepare(sql, options, deadline);
    }
    boolean opening = cached && first != null;
    send(statement, parameters, opening ? first : null, !cached, options.mostRows(), deadline);
    Outcome outcome = answers.complete(statement, reception, deadline, opening);
    if (cached && discardedAsStale(statement, outcome) && heal && before == 'I') {
      alone(first == null ? null : "ROLLBACK", deadline);
      return attempt(sql, parameters, options, reception, deadline, false);
    }
    return outcome.tagOrThrow(sql, deadline);
  }

  /**
   * Forgets a statement that was answered as a changed table or a lost statement is, before
   * anything has run. Where the caller cannot run it again, the error says what the user can do.
   */
  boolean discardedAsStale(Statement statement, Outcome outcome) {
    // What has run says what it likes: a function may itself meet with a table that was changed, or
    // ask for a lost statement.
    boolean begun = outcome.bound > statement.witnesses.length;
    if (outcome.error == null || begun || !isStale(statement, outcome.error)) {
      return false;
    }
    if (session.discard(statement) && outcome.error.sqlState().equals("26000")) {
      session.statements.lost();
    }
    outcome.advice =
        "The prepared statement does not fit any more or was lost behind a pooler, and inside a"
            + " transaction or a pipeline it cannot be prepared again at once. The next time it"
            + " will be; statement_cache_size=0 turns the cache off.";
    return true;
  }

  private static boolean isStale(Statement statement, ServerMessage error) {
    return switch (error.sqlState()) {
      case "26000" -> true;
      case "0A000" -> "RevalidateCachedQuery".equals(error.routine());
      // A type that a witness names has another name, or another schema.
      case "42704", "3F000" -> statement.witnesses.length > 0;
      // A parameter does not have the fields of its type any more.
      case "42804" -> statement.witnesses.length > 0 && "record_recv".equals(error.routine());
      case "22P02" -> statement.witnesses.length > 0 && "record_in".equals(error.routine());
      default -> false;
    };
  }

  /** Sends the values and the order to run, in one write. */
  private void send(
      Statement statement,
      Object[] parameters,
      String first,
      boolean parsed,
      int mostRows,
      Deadline deadline) {
    WireOutput out = session.wire.output();
    session.writeClosing(out);
    int start = out.size();
    try {
      if (first != null) {
        Requests.utility(first, out);
      }
      Requests.bind(statement, parameters, out);
    } catch (Throwable e) {
      out.truncate(start);
      if (parsed) {
        session.synchronize(deadline);
      }
      throw e;
    }
    Requests.execute(mostRows, out);
    out.message('S');
    session.flush(deadline);
  }

  /** Runs a statement that returns nothing, in a round trip of its own; null is none. */
  void alone(String sql, Deadline deadline) {
    if (sql == null) {
      return;
    }
    Requests.utility(sql, session.wire.output());
    session.wire.output().message('S');
    session.flush(deadline);
    Outcome outcome = new Outcome();
    while (true) {
      int type = session.receive(deadline);
      switch (type) {
        case '1', '2', 'C' -> {}
        case 'E' -> answers.failed(outcome);
        case 'Z' -> {
          session.ready();
          outcome.interrupted = session.wire.takeInterrupt();
          outcome.tagOrThrow(sql, deadline);
          return;
        }
        default -> throw session.unexpected(type, "while " + sql + " runs");
      }
    }
  }

  /** Runs a script in the simple protocol, see {@link Script}. */
  List<Result> script(String sql) {
    return new Script(this).run(sql, Options.DEFAULT);
  }
}
