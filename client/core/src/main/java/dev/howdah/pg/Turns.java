package dev.howdah.pg;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Who may use a session: any number of statements that share it, or one holder that has it alone.
 * All are served in the order of their coming, so neither kind can keep the other waiting forever.
 *
 * <p>A holder may take it again, on the same thread. It may give it back on another one, since a
 * cursor may be closed by a thread that did not open it. Waiting parks a thread and holds no
 * monitor, so a virtual thread leaves its carrier.
 */
final class Turns {
  private final ReentrantLock lock = new ReentrantLock();
  private final Queue<Waiter> waiting = new ArrayDeque<>();
  private int sharing;
  private int depth;
  private volatile Thread holder;
  private volatile String purpose = "a statement";

  private static final class Waiter {
    private final Thread thread = Thread.currentThread();
    private final boolean alone;
    private volatile boolean served;

    private Waiter(boolean alone) {
      this.alone = alone;
    }
  }

  /** Whether the current thread has the session alone. */
  boolean heldByMe() {
    return holder == Thread.currentThread();
  }

  /** What the holder does with the session; an error for those who wait too long names it. */
  void purpose(String what) {
    purpose = what;
  }

  /** Takes a share; waits for whoever has the session alone, or came before and wants it so. */
  void share(Deadline deadline) {
    take(false, deadline);
  }

  /** Gives a share back. */
  void unshare() {
    lock.lock();
    try {
      sharing--;
      serve();
    } finally {
      lock.unlock();
    }
  }

  /** Takes the session alone; waits for all that came before. */
  void hold(Deadline deadline) {
    if (!heldByMe()) {
      take(true, deadline);
      return;
    }
    lock.lock();
    try {
      depth++;
    } finally {
      lock.unlock();
    }
  }

  /** Takes the session alone if nobody has it; returns whether it did. */
  boolean tryHold() {
    lock.lock();
    try {
      if (heldByMe() || sharing == 0 && depth == 0 && waiting.isEmpty()) {
        grant(true, Thread.currentThread());
        return true;
      }
      return false;
    } finally {
      lock.unlock();
    }
  }

  /** Gives back what {@link #hold} took. */
  void release() {
    lock.lock();
    try {
      if (--depth == 0) {
        holder = null;
        serve();
      }
    } finally {
      lock.unlock();
    }
  }

  /** A cursor that another thread reads on is that thread's from now on. */
  void adopt() {
    if (!heldByMe()) {
      lock.lock();
      try {
        if (depth == 1) {
          holder = Thread.currentThread();
        }
      } finally {
        lock.unlock();
      }
    }
  }

  private void take(boolean alone, Deadline deadline) {
    Waiter waiter;
    lock.lock();
    try {
      if (waiting.isEmpty() && depth == 0 && (!alone || sharing == 0)) {
        grant(alone, Thread.currentThread());
        return;
      }
      waiter = new Waiter(alone);
      waiting.add(waiter);
    } finally {
      lock.unlock();
    }
    await(waiter, deadline);
  }

  private void grant(boolean alone, Thread thread) {
    if (alone) {
      holder = thread;
      depth++;
    } else {
      sharing++;
    }
  }

  /** Serves those who wait, from the first on, as far as they go together. */
  private void serve() {
    while (!waiting.isEmpty() && depth == 0) {
      Waiter next = waiting.element();
      if (next.alone && sharing > 0) {
        return;
      }
      waiting.remove();
      grant(next.alone, next.thread);
      next.served = true;
      LockSupport.unpark(next.thread);
    }
  }

  private void await(Waiter waiter, Deadline deadline) {
    while (!waiter.served) {
      deadline.park(this);
      boolean late = deadline.isOver();
      if ((late || Thread.currentThread().isInterrupted()) && withdraw(waiter)) {
        throw late
            ? new PgTimeoutException(
                "the connection was busy with "
                    + purpose
                    + " of another thread for all of the query's limit, "
                    + deadline.limit()
                    + "; nothing was sent")
            : new PgException(
                "57014",
                "the thread was interrupted while it waited for the connection; nothing was sent");
      }
    }
  }

  /** Takes a waiter back; false if it was served meanwhile. */
  private boolean withdraw(Waiter waiter) {
    lock.lock();
    try {
      if (waiter.served) {
        return false;
      }
      waiting.remove(waiter);
      serve();
      return true;
    } finally {
      lock.unlock();
    }
  }
}
