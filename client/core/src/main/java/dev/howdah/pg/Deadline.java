package dev.howdah.pg;

import java.time.Duration;

/** How long a query may still take, and whether it was cancelled because that was over. */
final class Deadline {
  private final Duration limit;
  private long at;
  private final boolean closing;
  private boolean cancelled;

  private Deadline(Duration limit, long at, boolean closing) {
    this.limit = limit;
    this.at = at;
    this.closing = closing;
  }

  /** The limit counts from now; zero is no limit. */
  static Deadline after(Duration limit) {
    return after(limit, false);
  }

  /** As above; says whether the connection is closed when the limit has passed, without an attempt to cancel. */
  static Deadline after(Duration limit, boolean closing) {
    return new Deadline(limit, limit.isZero() ? Long.MAX_VALUE : System.nanoTime() + limit.toNanos(), closing);
  }

  /** A value of {@link System#nanoTime}, or {@link Long#MAX_VALUE}. */
  long at() {
    return at;
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
