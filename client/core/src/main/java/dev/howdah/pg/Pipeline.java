package dev.howdah.pg;

import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Statements that are sent together and answered together, in one round trip for all of them.
 *
 * <pre>{@code
 * try (Pipeline pipeline = connection.pipeline()) {
 *   var user = pipeline.query("select * from users where id = $1", 7);
 *   var orders = pipeline.query("select * from orders where user_id = $1", 7);
 *   render(user.get(), orders.get());
 * }
 * }</pre>
 *
 * <p>Each statement is a transaction of its own unless one was begun before, so an error ends that
 * statement alone. A statement that is not kept prepared yet is prepared first, which sends what is
 * pending. One whose tables have changed fails, with advice, because those behind it have run; the
 * next time it is prepared anew. The time limit and {@link Connection#cancel} apply to the pipeline
 * as a whole.
 */
public final class Pipeline implements AutoCloseable {
  private final Connection connection;
  private final Executor executor;
  private final Session session;
  private final Options options;
  private final Queue<Answer> pending = new ArrayDeque<>();
  private Deadline deadline;

  Pipeline(Connection connection, Executor executor, Options options) {
    this.connection = connection;
    this.executor = executor;
    this.session = executor.session;
    this.options = options;
  }

  /** The answer to one statement, there once the pipeline was sent and read. */
  public final class Answer {
    private final Statement statement;
    private Result result;
    private RuntimeException error;
    private boolean done;

    private Answer(Statement statement) {
      this.statement = statement;
    }

    /**
     * The rows; sends and reads the pipeline if that has not happened. Throws what the statement
     * met with.
     */
    public Result get() {
      if (!done) {
        run();
      }
      if (error != null) {
        throw error;
      }
      return result;
    }
  }

  /** Adds a statement. */
  public Answer query(String sql, Object... parameters) {
    return query(options.types(), sql, parameters);
  }

  /** Adds a statement with the types that are declared for its parameters. */
  public Answer query(ParameterTypes types, String sql, Object... parameters) {
    if (pending.isEmpty()) {
      begin();
    }
    Options typed = options.types().equals(types) ? options : options.types(types);
    Statement statement = session.statements.find(sql, typed);
    return add(statement != null ? statement : prepare(sql, typed), parameters);
  }

  /**
   * An unnamed statement is bound before Sync, behind which a pooler may go on with another session
   * of the server.
   */
  private Statement prepare(String sql, Options typed) {
    if (!pending.isEmpty()) {
      run();
      begin();
    }
    try {
      Statement statement = executor.preparation.prepareToRepeat(sql, typed, deadline);
      if (!statement.isUnnamed()) {
        session.synchronize(deadline);
      }
      return statement;
    } catch (Throwable e) {
      end();
      throw e;
    }
  }

  private Answer add(Statement statement, Object[] parameters) {
    session.writeClosing(session.wire.output());
    int start = session.wire.output().size();
    try {
      Requests.bind(statement, parameters, session.wire.output());
    } catch (Throwable e) {
      session.wire.output().truncate(start);
      giveUp(statement);
      throw e;
    }
    Requests.execute(0, session.wire.output());
    session.wire.output().message('S');
    Answer answer = new Answer(statement);
    pending.add(answer);
    return answer;
  }

  /** Nothing was added: a pipeline of nothing else has ended. */
  private void giveUp(Statement statement) {
    if (!pending.isEmpty()) {
      return;
    }
    try {
      if (statement.isUnnamed()) {
        session.synchronize(deadline);
      }
    } finally {
      end();
    }
  }

  private void begin() {
    connection.checkLoan();
    executor.hold(options);
    try {
      executor.checkFree();
    } catch (RuntimeException e) {
      executor.turns.release();
      throw e;
    }
    deadline = executor.deadline(options);
    session.gate.begin();
    executor.occupy("a pipeline that was not read");
  }

  private void end() {
    executor.release();
    session.gate.end();
    executor.turns.release();
  }

  /** Sends what was added and reads the answers. */
  public void run() {
    if (pending.isEmpty()) {
      return;
    }
    try {
      session.flush(deadline);
      while (!pending.isEmpty()) {
        read(pending.element());
        pending.remove();
      }
    } catch (Throwable e) {
      // What the server still owes would be read as the answer to another statement.
      session.close();
      pending.forEach(answer -> fail(answer, e));
      throw e;
    } finally {
      pending.clear();
      end();
    }
  }

  private static void fail(Answer answer, Throwable error) {
    answer.done = true;
    answer.error = PgException.unchecked("the rows of a statement could not be taken", error);
  }

  private void read(Answer answer) {
    Harvest<Result> rows = executor.kept(options);
    Outcome outcome = executor.answers.complete(answer.statement, rows, deadline);
    executor.discardedAsStale(answer.statement, outcome);
    try {
      String tag = outcome.tagOrThrow(answer.statement.sql, deadline);
      answer.result = rows.end(tag);
      session.throwHandlerFailure();
      answer.done = true;
    } catch (Throwable e) {
      session.addHandlerFailure(e);
      fail(answer, e);
    }
  }

  /** Sends and reads what is left. Errors of statements are in their answers. */
  @Override
  public void close() {
    run();
  }
}
