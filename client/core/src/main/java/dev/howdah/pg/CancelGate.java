package dev.howdah.pg;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Keeps a cancel from hitting any query but the one that was meant.
 *
 * <p>The server takes a cancel on a connection of its own and signals whatever the session runs when it
 * gets to it. So a cancel is sent only while a query runs, and the query's end waits until the server has
 * closed every such connection, which it does after it has signalled. A signal that comes when the
 * session is idle does nothing; the next query is sent only after that.
 */
final class CancelGate {
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition done = lock.newCondition();
  private boolean running;
  private int cancelling;

  /** A query is about to be sent. */
  void begin() {
    lock.lock();
    try {
      running = true;
    } finally {
      lock.unlock();
    }
  }

  /** The query's end was read. Returns when no cancel is under way. */
  void end() {
    lock.lock();
    try {
      running = false;
      while (cancelling > 0) {
        done.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Sends a cancel if a query runs; the action returns when the server has closed the connection. */
  boolean cancel(Runnable send) {
    lock.lock();
    try {
      if (!running) {
        return false;
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
