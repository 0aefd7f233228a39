package dev.howdah.pg;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** How long a query may still take, and whether it was cancelled because that was over. */
final class Deadline {
  private static final long FIRST_PAUSE = 100_000_000;
  private static final long LONGEST_PAUSE = 1_000_000_000;

  private final Duration limit;
  private final boolean closing;
  private long at;
  private boolean cancelled;

  /** When the cancel is sent once more, and the pause after that. */
  private long again = Long.MAX_VALUE;

  private long pause = FIRST_PAUSE;

  private Deadline(Duration limit, long at, boolean closing) {
    this.limit = limit;
    this.at = at;
    this.closing = closing;
  }

  /** The limit counts from now; zero is no limit. */
  static Deadline after(Duration limit) {
    return after(limit, false);
  }

  /**
   * As above; says whether the connection is closed when the limit has passed, without an attempt
   * to cancel.
   */
  static Deadline after(Duration limit, boolean closing) {
    return new Deadline(
        limit, limit.isZero() ? Long.MAX_VALUE : System.nanoTime() + limit.toNanos(), closing);
  }

  /** A value of {@link System#nanoTime}, or {@link Long#MAX_VALUE}. */
  long at() {
    return again == Long.MAX_VALUE || at != Long.MAX_VALUE && at - again < 0 ? at : again;
  }

  /** Whether the limit, or the grace after it, has passed. */
  boolean isOver() {
    return at != Long.MAX_VALUE && System.nanoTime() - at >= 0;
  }

  /** Whether it is time to send the cancel once more. */
  boolean isDueAgain() {
    return again != Long.MAX_VALUE && System.nanoTime() - again >= 0;
  }

  /**
   * A cancel was sent; it is sent once more after a pause, since a server that had not begun yet
   * has ignored it.
   */
  void cancelAgainLater() {
    again = System.nanoTime() + pause;
    pause = Math.min(LONGEST_PAUSE, pause * 2);
  }

  /** Whether the cancel will be sent once more. */
  boolean repeats() {
    return again != Long.MAX_VALUE;
  }

  /** Parks the thread until something wakes it, at the latest until the limit has passed. */
  void park(Object blocker) {
    if (at == Long.MAX_VALUE) {
      LockSupport.park(blocker);
    } else {
      LockSupport.parkNanos(blocker, at - System.nanoTime());
    }
  }

  /** Whether it is one for such a limit. */
  boolean isFor(Duration wanted, boolean closes) {
    return closing == closes && limit.equals(wanted);
  }

  boolean closing() {
    return closing;
  }

  boolean cancelled() {
    return cancelled;
  }

  /** The query was cancelled; the server has this long to say so. */
  void extend(Duration grace) {
    cancelled = true;
    at = System.nanoTime() + grace.toNanos();
  }

  String limit() {
    return limit.toMillis() + " ms";
  }
}
