package dev.howdah.pg.types;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Period;

/** interval as {@link Interval}; text in IntervalStyle postgres, the server's default. */
final class IntervalCodec extends Codec {
  IntervalCodec() {
    super("interval");
  }

  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    if (length != 16) {
      throw broken(length);
    }
    return new Interval(BigEndian.int4(bytes, offset + 12), BigEndian.int4(bytes, offset + 8), BigEndian.int8(bytes, offset));
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
    text.append(text.isEmpty() ? "" : " ").append(before && value > 0 ? "+" : "").append(value).append(' ').append(unit);
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
    int months = 0;
    int days = 0;
    long micros = 0;
    String[] words = text.split(" ");
    try {
      for (int i = 0; i < words.length; i++) {
        if (words[i].indexOf(':') >= 0) {
          micros = parsedTime(words[i]);
          continue;
        }
        int value = Integer.parseInt(words[i]);
        switch (words[++i]) {
          case "year", "years" -> months = Math.addExact(months, Math.multiplyExact(12, value));
          case "mon", "mons" -> months = Math.addExact(months, value);
          case "day", "days" -> days = value;
          default -> throw malformed(text);
        }
      }
    } catch (NumberFormatException | ArithmeticException | IndexOutOfBoundsException e) {
      throw malformed(text);
    }
    return new Interval(months, days, micros);
  }

  private static long parsedTime(String word) {
    boolean negative = word.charAt(0) == '-';
    String[] parts = (negative || word.charAt(0) == '+' ? word.substring(1) : word).split(":");
    int point = parts[2].indexOf('.');
    String seconds = point < 0 ? parts[2] : parts[2].substring(0, point);
    String fraction = ((point < 0 ? "" : parts[2].substring(point + 1)) + "000000").substring(0, 6);
    // Negative throughout, because the least long has no positive counterpart.
    long total = -((Long.parseLong(parts[0]) * 60 + Long.parseLong(parts[1])) * 60 + Long.parseLong(seconds));
    long micros = Math.subtractExact(Math.multiplyExact(total, 1_000_000L), Long.parseLong(fraction));
    return negative ? micros : Math.negateExact(micros);
  }
}
