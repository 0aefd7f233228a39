package dev.howdah.pg;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/** One thread's statement in the pipeline that several threads share, and its answer. */
final class SharedCall<T> {
  private static final int WAITING = 0;
  private static final int CALLED = 1;
  private static final int LEFT = 2;
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(SharedCall.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  final Statement statement;

  /** Counts from before the statement was sent. */
  final Deadline deadline;

  private final Harvest<T> harvest;
  private final Thread caller = Thread.currentThread();

  /**
   * What the caller does: it waits, or was called because its answer is next on the wire or was
   * read for it, or has left because its time was over. Then the thread that would have called it
   * reads the answer, which nobody has.
   */
  private volatile int state;

  /** Whether the answer was read; written by the thread that read it, before it calls. */
  private boolean answered;

  /**
   * Set under the gate's lock: a cancel was meant for this call, or for another while this one was
   * under way.
   */
  private boolean cancelMeant;

  private boolean cancelPossible;

  T result;
  Outcome outcome;
  RuntimeException failure;

  SharedCall(Statement statement, Deadline deadline, Harvest<T> harvest) {
    this.statement = statement;
    this.deadline = deadline;
    this.harvest = harvest;
  }

  /** Reads the answer; the one thread that reads calls this. */
  void receive(Answers answers) {
    outcome = answers.complete(statement, harvest, deadline);
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

  /**
   * A cancel is under way and meant for another call, but the server may have gone on to this one.
   */
  void exposeToCancel() {
    cancelPossible = true;
  }

  /** Whether it was ended by a cancel that was meant for another. It has then had no effect. */
  boolean wasHitByMistake() {
    return cancelPossible
        && !cancelMeant
        && outcome != null
        && outcome.error != null
        && outcome.error.sqlState().equals("57014");
  }

  /**
   * Lets the caller go on; from the thread that has read its answer, or the one before. False if it
   * has left.
   */
  boolean call() {
    if (STATE.compareAndSet(this, WAITING, CALLED) && caller != Thread.currentThread()) {
      LockSupport.unpark(caller);
    }
    return !hasLeft();
  }

  boolean hasLeft() {
    return state == LEFT;
  }

  /** The answer was read, or will never be. */
  void answer() {
    answered = true;
  }

  boolean isAnswered() {
    return answered;
  }

  /**
   * Waits until the answer is next on the wire or was read; returns false if the time was over
   * before, and the caller has left.
   */
  boolean await() {
    boolean interrupted = false;
    while (state == WAITING && !(deadline.isOver() && STATE.compareAndSet(this, WAITING, LEFT))) {
      deadline.park(this);
      // What was sent cannot be taken back; once its turn has come, an interrupt cancels it.
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return state != LEFT;
  }
}
