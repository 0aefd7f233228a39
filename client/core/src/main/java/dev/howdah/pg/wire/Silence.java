package dev.howdah.pg.wire;

import java.time.Duration;

/** How long the other side has said nothing while it is waited for, and how long it may. */
final class Silence {
  /** In nanoseconds; 0 for ever. */
  private volatile long limit;

  /** Since when it lasts, as {@link System#nanoTime} counts; known where there is a limit. */
  private volatile long since;

  /**
   * Whether the other side is waited for, and has neither said nor taken anything since. A wait
   * that a deadline interrupts goes on: its silence counts from where it began.
   */
  private boolean lasts;

  /** Sets the limit, zero for ever. A wait that is under way has that long from now on. */
  void limit(Duration duration) {
    restart();
    limit = duration.toNanos();
  }

  Duration limit() {
    return Duration.ofNanos(limit);
  }

  /** The other side is known to be there, although it says nothing here. */
  void restart() {
    since = System.nanoTime();
  }

  /** The other side has said or taken something, or is about to be asked. */
  void breakOff() {
    lasts = false;
  }

  /** When a wait that begins or goes on now ends: with its deadline, or when it is too long. */
  long end(long deadline) {
    long most = limit;
    if (most != 0 && !lasts) {
      restart();
    }
    // Where there is no limit, one that is set during the wait counts from then.
    lasts = true;
    long end = since + most;
    return most == 0 || deadline != Long.MAX_VALUE && deadline - end <= 0 ? deadline : end;
  }

  boolean isTooLong() {
    long most = limit;
    return most != 0 && System.nanoTime() - since >= most;
  }
}
