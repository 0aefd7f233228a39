package dev.howdah.pg;

import dev.howdah.pg.wire.WireOutput;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Statements of several threads on one session, sent without waiting for each other.
 *
 * <p>There is no thread of its own. Each caller writes its statement behind those before it and
 * waits until its answer is next; then it reads it, and whatever whole answers have come with it,
 * and calls the next one. So one thread at a time reads, any thread writes, and none waits for the
 * socket to take its bytes.
 *
 * <p>Only a statement that is prepared, reads or writes rows, and is a transaction of its own goes
 * this way; everything else has the session alone, see {@link Turns}.
 *
 * <p>A caller whose time is over before its answer is due leaves it to the thread that reads the
 * one before, which cancels the statement when it gets there. Until then whoever comes waits for a
 * turn alone, so that what nobody waits for cannot pile up.
 */
final class SharedPipeline {
  private final Executor executor;
  private final Session session;
  private volatile Thread reader;

  /** How many calls were left by their callers and have not been answered. */
  private final AtomicInteger left = new AtomicInteger();

  SharedPipeline(Executor executor) {
    this.executor = executor;
    this.session = executor.session;
  }

  /**
   * Refuses what a handler of notices, a codec or a maker of rows asks of the connection that waits
   * for it.
   */
  void refuseReentry() {
    if (reader == Thread.currentThread() || session.wire.lock().isHeldByCurrentThread()) {
      throw new PgException(
          "55006", "the connection is busy with a statement whose rows are being read");
    }
  }

  /**
   * Runs a statement beside others; null if it must run alone. The caller has a share of the
   * session.
   */
  <T> T run(
      String sql, Object[] parameters, Options options, Deadline deadline, Harvest<T> harvest) {
    SharedCall<T> call = left.get() > 0 ? null : send(sql, parameters, options, deadline, harvest);
    if (call == null) {
      return null;
    }
    if (session.gate.calls() > 1) {
      // Others are about to write too; what they write goes out with this, in one write for all.
      Thread.yield();
    }
    session.wire.push();
    if (!call.await()) {
      left.incrementAndGet();
      throw new PgTimeoutException(
          "the query passed its limit of "
              + deadline.limit()
              + " (query_timeout or the query's own timeout) behind statements of other threads on"
              + " the connection; it was sent, and is cancelled when the server gets to it");
    }
    if (!call.isAnswered()) {
      read(call);
    }
    return answer(call);
  }

  private <T> SharedCall<T> send(
      String sql, Object[] parameters, Options options, Deadline deadline, Harvest<T> harvest) {
    session.wire.lock().lock();
    try {
      Statement statement = session.statements.find(sql, options);
      if (statement == null || !statement.shareable || !session.isReadyToShare()) {
        return null;
      }
      SharedCall<T> call = new SharedCall<>(statement, deadline, harvest);
      write(call, parameters, session.wire.output());
      session.gate.add(call);
      return call;
    } finally {
      session.wire.lock().unlock();
    }
  }

  private void write(SharedCall<?> call, Object[] parameters, WireOutput out) {
    session.writeClosing(out);
    int start = out.size();
    try {
      Requests.bind(call.statement, parameters, out);
    } catch (Throwable e) {
      out.truncate(start);
      throw e;
    }
    Requests.execute(0, out);
    out.message('S');
  }

  /**
   * Reads the answer to the current thread's call, those behind it that are there already, and
   * those whose callers have left.
   */
  private void read(SharedCall<?> mine) {
    SharedCall<?> next = mine;
    do {
      next = readFrom(next, mine);
    } while (next != null && !next.call());
  }

  /** Returns the call that is to read on; null if there is none. */
  private SharedCall<?> readFrom(SharedCall<?> first, SharedCall<?> mine) {
    reader = Thread.currentThread();
    SharedCall<?> next = first;
    try {
      do {
        next = readOne(next);
      } while (next != null && (session.wire.holds('Z') || next.hasLeft()));
      return next;
    } catch (Throwable e) {
      session.close();
      failAll(e);
      if (!mine.isAnswered()) {
        throw e;
      }
      return null;
    } finally {
      reader = null;
    }
  }

  /**
   * Reads the first call's answer and lets its caller go on; returns the call that is first then.
   */
  private SharedCall<?> readOne(SharedCall<?> call) {
    call.receive(executor.answers);
    call.failure = session.takeHandlerFailure();
    call.answer();
    SharedCall<?> next = session.gate.removeFirst();
    if (!call.call()) {
      left.decrementAndGet();
    }
    if (next != null && session.hasForeignEncoding()) {
      throw new ConnectionException(
          "a statement set another client_encoding while others were on their way;"
              + " the connection is closed, because their text cannot be told");
    }
    return next;
  }

  /** Nothing more can be read: no call that is left will have an answer. */
  private void failAll(Throwable reason) {
    for (SharedCall<?> call = session.gate.first();
        call != null;
        call = session.gate.removeFirst()) {
      call.failure = failure(reason);
      call.answer();
      call.call();
    }
  }

  /**
   * Each caller gets an error of its own. Where the server has said why it ends the session, it is
   * the server's.
   */
  private static PgException failure(Throwable reason) {
    return reason instanceof ServerException farewell
        ? new ServerException(farewell.server(), null)
        : new ConnectionException(
            "the connection ended before the statement was answered: " + reason.getMessage(),
            reason);
  }

  /** What the caller gets; null if the statement must run again, alone. */
  private <T> T answer(SharedCall<T> call) {
    if (call.failure != null) {
      throw call.failure;
    }
    if (call.wasHitByMistake()) {
      return null;
    }
    if (executor.discardedAsStale(call.statement, call.outcome)) {
      return null;
    }
    call.outcome.tagOrThrow(call.statement.sql, call.deadline);
    return call.result;
  }
}
