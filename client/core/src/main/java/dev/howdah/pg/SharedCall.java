package dev.howdah.pg;

import java.util.concurrent.locks.LockSupport;

/** One thread's statement in the pipeline that several threads share, and its answer. */
final class SharedCall<T> {
  final Statement statement;
  final Options options;
  private final Harvest<T> harvest;
  private final Thread caller = Thread.currentThread();
  /** Whether the caller has waited long enough: its answer is next on the wire, or was read for it. */
  private volatile boolean called;
  /** Whether the answer was read; written by the thread that read it, before {@link #called}. */
  private boolean answered;
  /** Set under the gate's lock: a cancel was meant for this call, or for another while this one was under way. */
  private boolean cancelMeant;
  private boolean cancelPossible;

  T result;
  Outcome outcome;
  Deadline deadline;
  RuntimeException failure;

  SharedCall(Statement statement, Options options, Harvest<T> harvest) {
    this.statement = statement;
    this.options = options;
    this.harvest = harvest;
  }

  /** Reads the answer; the one thread that reads calls this. */
  void receive(Answers answers, Deadline limit) {
    deadline = limit;
    outcome = answers.complete(statement, harvest, limit);
    if (outcome.isSuccess()) {
      result = harvest.end(outcome.tag);
    }
  }

  /** A cancel is under way and meant for this call. */
  void cancel() {
    cancelMeant = true;
  }

  boolean isCancelMeant() {
    return cancelMeant;
  }

  /** A cancel is under way and meant for another call, but the server may have gone on to this one. */
  void exposeToCancel() {
    cancelPossible = true;
  }

  /** Whether it was ended by a cancel that was meant for another. It has then had no effect. */
  boolean wasHitByMistake() {
    return cancelPossible && !cancelMeant && outcome != null && outcome.error != null && outcome.error.sqlState().equals("57014");
  }

  /** Lets the caller go on; from the thread that has read its answer, or the one before. */
  void call() {
    called = true;
    if (caller != Thread.currentThread()) {
      LockSupport.unpark(caller);
    }
  }

  /** The answer was read, or will never be. */
  void answer() {
    answered = true;
  }

  boolean isAnswered() {
    return answered;
  }

  /** Waits until the answer is next on the wire or was read; returns whether it was read. */
  boolean await() {
    boolean interrupted = false;
    while (!called) {
      LockSupport.park(this);
      // What was sent cannot be taken back; once its turn has come, an interrupt cancels it.
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return answered;
  }
}
