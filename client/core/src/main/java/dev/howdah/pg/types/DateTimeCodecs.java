package dev.howdah.pg.types;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.OffsetTime;
import java.time.ZoneOffset;

/** date as LocalDate, time as LocalTime, timetz as OffsetTime. */
final class DateTimeCodecs {
  private DateTimeCodecs() {}

  /** The infinite dates are LocalDate.MAX and LocalDate.MIN. */
  static final class Date extends Codec {
    Date() {
      super("date");
    }

    private int days(byte[] bytes, int offset, int length) {
      if (length != 4) {
        throw broken(length);
      }
      return BigEndian.int4(bytes, offset);
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      int days = days(bytes, offset, length);
      if (days == Integer.MAX_VALUE) {
        return LocalDate.MAX;
      }
      return days == Integer.MIN_VALUE ? LocalDate.MIN : Days.date(days + Days.EPOCH);
    }

    @Override
    public long micros(byte[] bytes, int offset, int length) {
      int days = days(bytes, offset, length);
      if (days == Integer.MAX_VALUE) {
        return Long.MAX_VALUE;
      }
      if (days == Integer.MIN_VALUE) {
        return Long.MIN_VALUE;
      }
      try {
        return Math.multiplyExact(days + Days.EPOCH, TemporalText.DAY);
      } catch (ArithmeticException e) {
        throw outOfRange("a date so far off in microseconds since 1970");
      }
    }

    @Override
    public Object parse(String text) {
      if (text.equals("infinity")) {
        return LocalDate.MAX;
      }
      if (text.equals("-infinity")) {
        return LocalDate.MIN;
      }
      TemporalText.Reader reader = new TemporalText.Reader(text, this);
      LocalDate date = reader.date();
      reader.endOfDate();
      days(date);
      return date;
    }

    @Override
    public void encode(Object value, WireOutput out) {
      LocalDate date;
      if (value instanceof LocalDate local) {
        date = local;
      } else if (value instanceof java.sql.Date sql) {
        date = sql.toLocalDate();
      } else {
        throw refuse(value);
      }
      if (date.equals(LocalDate.MAX) || date.equals(LocalDate.MIN)) {
        out.int4(date.equals(LocalDate.MAX) ? Integer.MAX_VALUE : Integer.MIN_VALUE);
        return;
      }
      out.int4(days(date));
    }

    /** The greatest and the least number stand for infinity. */
    private int days(LocalDate date) {
      long days = date.toEpochDay() - Days.EPOCH;
      if (days >= Integer.MAX_VALUE || days <= Integer.MIN_VALUE) {
        throw outOfRange(date);
      }
      return (int) days;
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      int days = days(bytes, offset, length);
      if (days == Integer.MAX_VALUE || days == Integer.MIN_VALUE) {
        out.text(days > 0 ? "infinity" : "-infinity");
      } else {
        TemporalText.era(TemporalText.date(days + Days.EPOCH, out), out);
      }
    }
  }

  /** 24:00:00 is LocalTime.MAX. */
  static final class Time extends Codec {
    Time() {
      super("time");
    }

    @Override
    public long micros(byte[] bytes, int offset, int length) {
      if (length != 8) {
        throw broken(length);
      }
      return checked(BigEndian.int8(bytes, offset), this);
    }

    static long checked(long micros, Codec codec) {
      if (micros < 0 || micros > TemporalText.DAY) {
        throw codec.outOfRange(micros + " microseconds");
      }
      return micros;
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      return TemporalText.time(micros(bytes, offset, length));
    }

    @Override
    public Object parse(String text) {
      TemporalText.Reader reader = new TemporalText.Reader(text, this);
      LocalTime time = TemporalText.time(reader.time());
      reader.end();
      return time;
    }

    @Override
    public void encode(Object value, WireOutput out) {
      if (value instanceof java.sql.Time sql) {
        out.int8(TemporalText.micros(sql.toLocalTime()));
      } else if (value instanceof LocalTime time) {
        out.int8(TemporalText.micros(time));
      } else {
        throw refuse(value);
      }
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      TemporalText.time(micros(bytes, offset, length), out);
    }
  }

  /** On the wire the zone is in seconds west of Greenwich, opposite to ISO's sign. */
  static final class TimeTz extends Codec {
    TimeTz() {
      super("timetz");
    }

    @Override
    public long micros(byte[] bytes, int offset, int length) {
      zone(bytes, offset, length);
      return Time.checked(BigEndian.int8(bytes, offset), this);
    }

    /** Seconds east of Greenwich. */
    private int zone(byte[] bytes, int offset, int length) {
      if (length != 12) {
        throw broken(length);
      }
      int west = BigEndian.int4(bytes, offset + 8);
      if (west <= -TemporalText.ZONE_LIMIT || west >= TemporalText.ZONE_LIMIT) {
        throw outOfRange("a zone of " + west + " seconds");
      }
      return -west;
    }

    @Override
    public Object decode(byte[] bytes, int offset, int length) {
      LocalTime time = TemporalText.time(micros(bytes, offset, length));
      return OffsetTime.of(time, ZoneOffset.ofTotalSeconds(zone(bytes, offset, length)));
    }

    @Override
    public Object parse(String text) {
      TemporalText.Reader reader = new TemporalText.Reader(text, this);
      LocalTime time = TemporalText.time(reader.time());
      OffsetTime result = OffsetTime.of(time, reader.offset());
      reader.end();
      return result;
    }

    @Override
    public void encode(Object value, WireOutput out) {
      if (!(value instanceof OffsetTime time)) {
        throw refuse(value);
      }
      out.int8(TemporalText.micros(time.toLocalTime()));
      out.int4(-time.getOffset().getTotalSeconds());
    }

    @Override
    public void text(byte[] bytes, int offset, int length, WireOutput out) {
      TemporalText.time(micros(bytes, offset, length), out);
      TemporalText.offset(zone(bytes, offset, length), out);
    }
  }
}
