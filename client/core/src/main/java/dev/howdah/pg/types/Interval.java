package dev.howdah.pg.types;

import java.time.Duration;
import java.time.Period;

/**
 * An interval as PostgreSQL keeps it: months, days and microseconds, none of which can be turned
 * into another without a calendar.
 *
 * @param months whole months, years included
 * @param days whole days
 * @param micros microseconds, hours included
 */
public record Interval(int months, int days, long micros) {
  /** Greater than every other (PostgreSQL 17 and newer). */
  public static final Interval INFINITY =
      new Interval(Integer.MAX_VALUE, Integer.MAX_VALUE, Long.MAX_VALUE);

  /** Less than every other (PostgreSQL 17 and newer). */
  public static final Interval NEGATIVE_INFINITY =
      new Interval(Integer.MIN_VALUE, Integer.MIN_VALUE, Long.MIN_VALUE);

  /** The interval of a period and a duration; what is below a microsecond is cut off. */
  public static Interval of(Period period, Duration duration) {
    long seconds = Math.multiplyExact(duration.getSeconds(), 1_000_000L);
    return new Interval(
        Math.toIntExact(period.toTotalMonths()),
        period.getDays(),
        Math.addExact(seconds, duration.getNano() / 1000));
  }

  /** Months and days. */
  public Period period() {
    return Period.of(months / 12, months % 12, days);
  }

  /** What is shorter than a day. */
  public Duration duration() {
    return Duration.of(micros, java.time.temporal.ChronoUnit.MICROS);
  }

  /** The server's text with IntervalStyle postgres. */
  @Override
  public String toString() {
    return IntervalCodec.text(this);
  }
}
