package dev.howdah.pg.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What goes to the server, written by one thread or by several at once.
 *
 * <p>Threads that share it append under {@link #lock} and then {@link #push}. One of them sends,
 * without the lock, and takes along what the others have appended meanwhile: they need no write of
 * their own. A socket that takes no more makes nobody wait: the rest is {@link #stalled} until the
 * thread that reads finds the socket ready.
 */
final class Outbox {
  private final ReentrantLock lock = new ReentrantLock();
  private WireOutput output = new WireOutput(1 << 13);

  /** What is being sent; its place is taken by the output when it is empty. */
  private WireOutput leaving = new WireOutput(1 << 13);

  private ByteBuffer unsent = ByteBuffer.allocate(0);
  private boolean pushing;
  private volatile boolean stalled;
  private volatile long writes;

  ReentrantLock lock() {
    return lock;
  }

  WireOutput output() {
    return output;
  }

  boolean stalled() {
    return stalled;
  }

  long writes() {
    return writes;
  }

  /** Counts a write. Only ever called by the one thread that sends. */
  void count() {
    writes++;
  }

  void push(Transport transport) throws IOException {
    if (!begin()) {
      return;
    }
    boolean sent = false;
    try {
      do {
        count();
        sent = transport.write(unsent);
      } while (sent && more());
    } finally {
      if (!sent) {
        stall(transport);
      }
    }
  }

  /** Whether there is something to send and nobody who does; the current thread does then. */
  private boolean begin() {
    lock.lock();
    try {
      if (pushing || !stalled && output.size() == 0) {
        return false;
      }
      pushing = true;
      if (!stalled) {
        turnOver();
      }
      stalled = false;
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Whether others have appended meanwhile; if not, nobody sends from now on. */
  private boolean more() {
    lock.lock();
    try {
      leaving.clear();
      pushing = output.size() > 0;
      if (pushing) {
        turnOver();
      }
      return pushing;
    } finally {
      lock.unlock();
    }
  }

  private void turnOver() {
    WireOutput empty = leaving;
    leaving = output;
    output = empty;
    unsent = ByteBuffer.wrap(leaving.array(), 0, leaving.size());
  }

  private void stall(Transport transport) {
    lock.lock();
    try {
      stalled = true;
      pushing = false;
    } finally {
      lock.unlock();
    }
    transport.wakeUp();
  }
}
