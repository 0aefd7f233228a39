package dev.howdah.pg;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Knows what runs, and keeps a cancel from ending any query but the one that was meant.
 *
 * <p>The server takes a cancel on a connection of its own and signals whatever the session runs
 * when it gets to it. So a cancel is sent only while a query runs, and nothing that runs alone
 * begins before the server has closed every such connection, which it does after it has signalled.
 * A signal that comes when the session is idle does nothing.
 *
 * <p>Calls that share the session are on their way one behind the other, and the server may have
 * gone on to the next one by the time of the signal. A cancel is meant for the first, whose answer
 * is due. The others are marked: one that is ended by it has had no effect, because it was a
 * transaction of its own, and its caller runs it again.
 */
final class CancelGate {
  private final ReentrantLock lock;
  private final Condition done;

  /** Calls that were sent and not answered, in that order. */
  private final Deque<SharedCall<?>> calls = new ArrayDeque<>();

  private boolean running;

  /** Whether a cancel was meant for the query that runs alone. */
  private boolean cancelWanted;

  private int cancelling;

  /** The lock guards the order of calls, so it must be the one under which they are written. */
  CancelGate(ReentrantLock lock) {
    this.lock = lock;
    this.done = lock.newCondition();
  }

  /** A query that runs alone is about to be sent. Returns when no cancel is under way. */
  void begin() {
    lock.lock();
    try {
      awaitCancels();
      running = true;
      cancelWanted = false;
    } finally {
      lock.unlock();
    }
  }

  /** The query's end was read. Returns when no cancel is under way. */
  void end() {
    lock.lock();
    try {
      running = false;
      awaitCancels();
    } finally {
      lock.unlock();
    }
  }

  private void awaitCancels() {
    while (cancelling > 0) {
      done.awaitUninterruptibly();
    }
  }

  /** A call was written behind all others. */
  void add(SharedCall<?> call) {
    lock.lock();
    try {
      if (cancelling > 0) {
        call.exposeToCancel();
      }
      calls.add(call);
      if (calls.size() == 1) {
        call.call();
      }
    } finally {
      lock.unlock();
    }
  }

  /** The call whose answer is due, or null. */
  SharedCall<?> first() {
    lock.lock();
    try {
      return calls.peek();
    } finally {
      lock.unlock();
    }
  }

  /** The first call has its answer. Returns the one whose answer is next, or null. */
  SharedCall<?> removeFirst() {
    lock.lock();
    try {
      calls.remove();
      return calls.peek();
    } finally {
      lock.unlock();
    }
  }

  /** How many calls are on their way. */
  int calls() {
    lock.lock();
    try {
      return calls.size();
    } finally {
      lock.unlock();
    }
  }

  /** Whether a cancel was meant for what runs now. */
  boolean isCancelWanted() {
    lock.lock();
    try {
      SharedCall<?> first = calls.peek();
      return first != null ? first.isCancelMeant() : running && cancelWanted;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Sends a cancel if a query runs and the caller may still cancel it; the action returns when the
   * server has closed the connection. Both are asked in one step: who gives the session back in the
   * meantime cancels nothing of whoever has it next.
   */
  boolean cancel(BooleanSupplier may, Runnable send) {
    lock.lock();
    try {
      SharedCall<?> first = calls.peek();
      if (!running && first == null || !may.getAsBoolean()) {
        return false;
      }
      calls.forEach(SharedCall::exposeToCancel);
      if (first != null) {
        first.cancel();
      } else {
        cancelWanted = true;
      }
      cancelling++;
    } finally {
      lock.unlock();
    }
    try {
      send.run();
      return true;
    } finally {
      lock.lock();
      try {
        cancelling--;
        done.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }
}
