package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;

/**
 * A bound on time. How quick something is can be told on a machine that does nothing else, so
 * bounds count in {@code make test-timing}, which runs the tests that are tagged {@code timing}
 * alone. Elsewhere what they time must end at all.
 */
public enum Bound {
  /** The wait for a turn and for the query, which have two seconds together. */
  TURN_AND_QUERY(Duration.ofSeconds(3)),
  /** Two connections notice that the network is silent, within a second and 300 ms. */
  SILENT_NETWORK(Duration.ofSeconds(5)),
  /** A commit and a cancel notice a frozen network, each within 200 ms. */
  FROZEN_NETWORK(Duration.ofSeconds(3)),
  /** A borrower gets another connection where the server's processes have stopped. */
  STOPPED_SERVER(Duration.ofSeconds(6));

  /** What takes longer hangs. */
  public static final Duration HANGS = Duration.ofSeconds(60);

  private final Duration limit;

  Bound(Duration limit) {
    this.limit = limit;
  }

  /** Asserts that it took no longer. */
  public void check(Duration took) {
    Duration most = Boolean.getBoolean("howdah.timing") ? limit : HANGS;
    assertTrue(took.compareTo(most) < 0, () -> this + ": " + took);
  }

  /** Asserts that it took no longer since a reading of {@link System#nanoTime}. */
  public void checkSince(long start) {
    check(Duration.ofNanos(System.nanoTime() - start));
  }
}
