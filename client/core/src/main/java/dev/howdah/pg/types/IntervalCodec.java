package dev.howdah.pg.types;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Period;

/**
 * interval as {@link Interval}; text is written in IntervalStyle postgres, the server's default,
 * and read in each.
 */
final class IntervalCodec extends Codec {
  IntervalCodec() {
    super("interval");
  }

  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    if (length != 16) {
      throw broken(length);
    }
    return new Interval(
        BigEndian.int4(bytes, offset + 12),
        BigEndian.int4(bytes, offset + 8),
        BigEndian.int8(bytes, offset));
  }

  @Override
  public void encode(Object value, WireOutput out) {
    Interval interval;
    if (value instanceof Interval given) {
      interval = given;
    } else if (value instanceof Duration duration) {
      interval = Interval.of(Period.ZERO, duration);
    } else if (value instanceof Period period) {
      interval = Interval.of(period, Duration.ZERO);
    } else {
      throw refuse(value);
    }
    out.int8(interval.micros());
    out.int4(interval.days());
    out.int4(interval.months());
  }

  @Override
  public void text(byte[] bytes, int offset, int length, WireOutput out) {
    out.text(text((Interval) decode(bytes, offset, length)));
  }

  static String text(Interval interval) {
    if (interval.equals(Interval.INFINITY)) {
      return "infinity";
    }
    if (interval.equals(Interval.NEGATIVE_INFINITY)) {
      return "-infinity";
    }
    StringBuilder text = new StringBuilder();
    boolean before = part(text, interval.months() / 12, "year", false);
    before = part(text, interval.months() % 12, "mon", before);
    before = part(text, interval.days(), "day", before);
    if (text.isEmpty() || interval.micros() != 0) {
      time(text, interval.micros(), before);
    }
    return text.toString();
  }

  /** One number with its unit. A positive number after a negative one is marked by a plus. */
  private static boolean part(StringBuilder text, int value, String unit, boolean before) {
    if (value == 0) {
      return before;
    }
    text.append(text.isEmpty() ? "" : " ")
        .append(before && value > 0 ? "+" : "")
        .append(value)
        .append(' ')
        .append(unit);
    if (value != 1) {
      text.append('s');
    }
    return value < 0;
  }

  private static void time(StringBuilder text, long micros, boolean before) {
    text.append(text.isEmpty() ? "" : " ").append(micros < 0 ? "-" : before ? "+" : "");
    // The least long has no positive counterpart; as an unsigned number its negation is right.
    long size = Math.abs(micros);
    long seconds = Long.divideUnsigned(size, 1_000_000);
    WireOutput out = new WireOutput(24);
    Digits.padded(seconds / 3600, 2, out);
    out.int1(':');
    Digits.two((int) (seconds / 60 % 60), out);
    out.int1(':');
    Digits.two((int) (seconds % 60), out);
    Digits.fraction((int) Long.remainderUnsigned(size, 1_000_000), out);
    text.append(new String(out.array(), 0, out.size(), StandardCharsets.US_ASCII));
  }

  @Override
  public Object parse(String text) {
    if (text.equals("infinity")) {
      return Interval.INFINITY;
    }
    if (text.equals("-infinity")) {
      return Interval.NEGATIVE_INFINITY;
    }
    Interval interval = IntervalText.parse(text);
    if (interval == null) {
      throw malformed(text);
    }
    return interval;
  }
}
