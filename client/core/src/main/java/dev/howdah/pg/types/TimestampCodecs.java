package dev.howdah.pg.types;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;

/**
 * timestamp as LocalDateTime and timestamptz as OffsetDateTime at UTC. The infinite ones are MAX
 * and MIN of these classes.
 *
 * <p>On the wire both are microseconds since 2000-01-01 00:00:00. A value is decoded in 20 ns; by
 * way of text it would be 300.
 */
final class TimestampCodecs {
  private static final byte[] UTC = "+00:00".getBytes(StandardCharsets.US_ASCII);
  private static final long MICROS_TO_2000 = Days.EPOCH * TemporalText.DAY;
  private static final long FIRST_INSTANT =
      (LocalDate.of(1, 1, 1).toEpochDay() - Days.EPOCH) * TemporalText.DAY;
  private static final long LAST_INSTANT =
      (LocalDate.of(10_000, 1, 1).toEpochDay() - Days.EPOCH) * TemporalText.DAY - 1;

  private TimestampCodecs() {}

  private abstract static class Stamp extends Codec {
    Stamp(String name) {
      super(name);
    }

    final long since2000(byte[] bytes, int offset, int length) {
      if (length != 8) {
        throw broken(length);
      }
      return BigEndian.int8(bytes, offset);
    }

    static boolean infinite(long micros) {
      return micros == Long.MAX_VALUE || micros == Long.MIN_VALUE;
    }

    /** Infinity stays the greatest or least long. */
    @Override
    public final long micros(byte[] bytes, int offset, int length) {
      long micros = since2000(bytes, offset, length);
      if (!infinite(micros) && micros > Long.MAX_VALUE - MICROS_TO_2000) {
        throw outOfRange("a time so late in microseconds since 1970");
      }
      return infinite(micros) ? micros : micros + MICROS_TO_2000;
    }

    static LocalDateTime local(long micros) {
      long day = Math.floorDiv(micros, TemporalText.DAY);
      return LocalDateTime.of(
          Days.date(day + Days.EPOCH), TemporalText.time(micros - day * TemporalText.DAY));
    }

    final long toMicros(LocalDateTime value) {
      long days = value.toLocalDate().toEpochDay() - Days.EPOCH;
      long time = value.toLocalTime().toNanoOfDay() / 1000;
      try {
        // The day of the earliest times begins before all of them.
        long micros =
            days < 0
                ? Math.addExact(
                    Math.multiplyExact(days + 1, TemporalText.DAY), time - TemporalText.DAY)
                : Math.addExact(Math.multiplyExact(days, TemporalText.DAY), time);
        if (!infinite(micros)) {
          return micros;
        }
      } catch (ArithmeticException e) {
        // It is as far off as what stands for infinity.
      }
      throw outOfRange(value);
    }

    final LocalDateTime readLocal(TemporalText.Reader reader) {
      LocalDate date = reader.date();
      reader.expect(' ');
      long time = reader.time();
      if (time == TemporalText.DAY) {
        throw reader.malformed();
      }
      return date.atTime(TemporalText.time(time));
    }

    /**
     * Writes date and time with the given letter between them; returns whether the year is before
     * Christ.
     */
    static boolean write(long micros, char between, WireOutput out) {
      long day = Math.floorDiv(micros, TemporalText.DAY);
      boolean before = TemporalText.date(day + Days.EPOCH, out);
      out.int1(between);
      TemporalText.time(micros - day * TemporalText.DAY, out);
      return before;
    }

    abstract void zone(boolean iso, WireOutput out);

    final void write(byte[] bytes, int offset, int length, boolean iso, WireOutput out) {
      long micros = since2000(bytes, offset, length);
      if (infinite(micros)) {
        out.text(micros > 0 ? "infinity" : "-infinity");
        return;
      }
      boolean before = write(micros, iso ? 'T' : ' ', out);
      zone(iso, out);
      TemporalText.era(before, out);
    }

    @Override
    public final void text(byte[] bytes, int offset, int length, WireOutput out) {
      write(bytes, offset, length, false, out);
    }

    @Override
    public final void json(byte[] bytes, int offset, int length, WireOutput out) {
      out.int1('"');
      write(bytes, offset, length, true, out);
      out.int1('"');
    }

    @Override
    public final void jsonOfText(byte[] utf8, int offset, int length, WireOutput out) {
      WireOutput binary = new WireOutput(8);
      encode(parse(utf8, offset, length), binary);
      json(binary.array(), 0, binary.size(), out);
    }
  }

  static final class Timestamp extends Stamp {
    Timestamp() {
      super("timestamp");
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      long micros = since2000(bytes, offset, length);
      if (infinite(micros)) {
        return micros > 0 ? LocalDateTime.MAX : LocalDateTime.MIN;
      }
      return local(micros);
    }

    @Override
    public Object parse(String text) {
      if (text.equals("infinity")) {
        return LocalDateTime.MAX;
      }
      if (text.equals("-infinity")) {
        return LocalDateTime.MIN;
      }
      TemporalText.Reader reader = new TemporalText.Reader(text, this);
      LocalDateTime value = readLocal(reader);
      reader.endOfDate();
      toMicros(value);
      return value;
    }

    @Override
    public void encode(Object value, WireOutput out) {
      LocalDateTime local;
      if (value instanceof LocalDateTime time) {
        local = time;
      } else if (value instanceof java.sql.Timestamp sql) {
        local = sql.toLocalDateTime();
      } else if (value instanceof LocalDate date) {
        local = date.atStartOfDay();
      } else {
        throw refuse(value);
      }
      if (local.equals(LocalDateTime.MAX) || local.equals(LocalDateTime.MIN)) {
        out.int8(local.equals(LocalDateTime.MAX) ? Long.MAX_VALUE : Long.MIN_VALUE);
      } else {
        out.int8(toMicros(local));
      }
    }

    @Override
    void zone(boolean iso, WireOutput out) {
      // It has none.
    }
  }

  static final class TimestampTz extends Stamp {
    TimestampTz() {
      super("timestamptz");
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      long micros = since2000(bytes, offset, length);
      if (infinite(micros)) {
        return micros > 0 ? OffsetDateTime.MAX : OffsetDateTime.MIN;
      }
      return OffsetDateTime.of(local(micros), ZoneOffset.UTC);
    }

    @Override
    public Object parse(String text) {
      if (text.equals("infinity")) {
        return OffsetDateTime.MAX;
      }
      if (text.equals("-infinity")) {
        return OffsetDateTime.MIN;
      }
      TemporalText.Reader reader = new TemporalText.Reader(text, this);
      LocalDateTime local = readLocal(reader);
      ZoneOffset offset = reader.offset();
      reader.endOfDate();
      OffsetDateTime value = utc(OffsetDateTime.of(local, offset));
      toMicros(value.toLocalDateTime());
      return value;
    }

    private OffsetDateTime utc(OffsetDateTime value) {
      try {
        return value.withOffsetSameInstant(ZoneOffset.UTC);
      } catch (DateTimeException e) {
        throw outOfRange(value);
      }
    }

    @Override
    public void encode(Object value, WireOutput out) {
      if (value instanceof OffsetDateTime time) {
        encodeOffset(time, out);
      } else if (value instanceof Instant instant) {
        encodeInstant(instant, out);
      } else if (value instanceof ZonedDateTime time) {
        encodeOffset(time.toOffsetDateTime(), out);
      } else if (value instanceof java.sql.Date || value instanceof java.sql.Time) {
        throw refuse(value);
      } else if (value instanceof java.util.Date date) {
        encodeInstant(date.toInstant(), out);
      } else {
        throw refuse(value);
      }
    }

    private void encodeInstant(Instant instant, WireOutput out) {
      if (instant.equals(Instant.MAX) || instant.equals(Instant.MIN)) {
        out.int8(instant.equals(Instant.MAX) ? Long.MAX_VALUE : Long.MIN_VALUE);
      } else {
        encodeOffset(instant.atOffset(ZoneOffset.UTC), out);
      }
    }

    private void encodeOffset(OffsetDateTime value, WireOutput out) {
      if (value.equals(OffsetDateTime.MAX) || value.equals(OffsetDateTime.MIN)) {
        out.int8(value.equals(OffsetDateTime.MAX) ? Long.MAX_VALUE : Long.MIN_VALUE);
      } else {
        out.int8(toMicros(utc(value).toLocalDateTime()));
      }
    }

    /** An instant, where readers of EDN know it: from the year 1 to 9999. Others are strings. */
    @Override
    public void edn(byte[] bytes, int offset, int length, WireOutput out) {
      long micros = since2000(bytes, offset, length);
      if (micros < FIRST_INSTANT || micros > LAST_INSTANT) {
        super.edn(bytes, offset, length, out);
        return;
      }
      out.text("#inst ");
      json(bytes, offset, length, out);
    }

    @Override
    public void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
      WireOutput binary = new WireOutput(8);
      encode(parse(utf8, offset, length), binary);
      edn(binary.array(), 0, binary.size(), out);
    }

    @Override
    void zone(boolean iso, WireOutput out) {
      out.bytes(UTC, 0, iso ? 6 : 3);
    }
  }
}
