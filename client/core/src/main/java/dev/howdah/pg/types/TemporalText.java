package dev.howdah.pg.types;

import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.WireOutput;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneOffset;

/**
 * Dates and times as the server writes them with DateStyle ISO, written from numbers and read from
 * text.
 */
final class TemporalText {
  static final long DAY = 86_400_000_000L;

  /** A zone is less than so many seconds from Greenwich. */
  static final int ZONE_LIMIT = 16 * 3600;

  private TemporalText() {}

  /** Writes a date, without the mark for years before Christ; returns whether that mark is due. */
  static boolean date(long epochDay, WireOutput out) {
    byte[] plain = Days.text(epochDay);
    if (plain != null) {
      out.bytes(plain);
      return false;
    }
    LocalDate date = Days.date(epochDay);
    int year = date.getYear();
    Digits.padded(year > 0 ? year : 1L - year, 4, out);
    out.int1('-');
    Digits.two(date.getMonthValue(), out);
    out.int1('-');
    Digits.two(date.getDayOfMonth(), out);
    return year <= 0;
  }

  /** Writes the mark for years before Christ if it is due. */
  static void era(boolean before, WireOutput out) {
    if (before) {
      out.text(" BC");
    }
  }

  /** Writes a time of day from microseconds since midnight. */
  static void time(long micros, WireOutput out) {
    int seconds = (int) (micros / 1_000_000);
    int minutes = seconds / 60;
    int hours = minutes / 60;
    byte[] bytes = out.room(8);
    int at = out.size();
    Digits.two(hours, bytes, at);
    bytes[at + 2] = ':';
    Digits.two(minutes - hours * 60, bytes, at + 3);
    bytes[at + 5] = ':';
    Digits.two(seconds - minutes * 60, bytes, at + 6);
    out.advance(8);
    Digits.fraction((int) (micros - seconds * 1_000_000L), out);
  }

  /** Writes an offset from UTC, as short as it can be: +02, +05:30, -00:19:32. */
  static void offset(int seconds, WireOutput out) {
    out.int1(seconds < 0 ? '-' : '+');
    int rest = Math.abs(seconds);
    Digits.two(rest / 3600, out);
    if (rest % 3600 != 0) {
      out.int1(':');
      Digits.two(rest / 60 % 60, out);
      if (rest % 60 != 0) {
        out.int1(':');
        Digits.two(rest % 60, out);
      }
    }
  }

  /** Reads text from left to right. */
  static final class Reader {
    private final String text;
    private final Codec codec;
    private int at;

    Reader(String text, Codec codec) {
      this.text = text;
      this.codec = codec;
    }

    boolean more() {
      return at < text.length();
    }

    boolean take(char c) {
      if (more() && text.charAt(at) == c) {
        at++;
        return true;
      }
      return false;
    }

    void expect(char c) {
      if (!take(c)) {
        throw malformed();
      }
    }

    PgException malformed() {
      PgException error = codec.malformed(text);
      return new PgException(
          error.sqlState(),
          error.getMessage()
              + " (as text, dates and times are read in DateStyle ISO,"
              + " which a connection begins with and SET datestyle TO iso sets back)");
    }

    int number() {
      int start = at;
      long value = 0;
      while (more() && text.charAt(at) >= '0' && text.charAt(at) <= '9' && at - start < 10) {
        value = value * 10 + text.charAt(at++) - '0';
      }
      if (at == start || value > Integer.MAX_VALUE) {
        throw malformed();
      }
      return (int) value;
    }

    /** A date; whether it is before Christ is said at the text's end. */
    LocalDate date() {
      int start = at;
      int year = number();
      if (at - start < 4) {
        // Other styles begin with the day or the month.
        throw malformed();
      }
      expect('-');
      int month = number();
      expect('-');
      int day = number();
      if (year == 0) {
        // Before the year 1 comes the year 1 BC.
        throw malformed();
      }
      try {
        return LocalDate.of(text.endsWith(" BC") ? 1 - year : year, month, day);
      } catch (DateTimeException e) {
        throw malformed();
      }
    }

    /** A time of day in microseconds, up to 24:00:00. */
    long time() {
      int hour = number();
      expect(':');
      int minute = sixtieths();
      expect(':');
      int second = sixtieths();
      long micros = ((hour * 60L + minute) * 60 + second) * 1_000_000;
      if (take('.')) {
        int start = at;
        long fraction = number();
        if (at - start > 6) {
          throw malformed();
        }
        for (int digits = at - start; digits < 6; digits++) {
          fraction *= 10;
        }
        micros += fraction;
      }
      if (micros > DAY) {
        throw malformed();
      }
      return micros;
    }

    ZoneOffset offset() {
      boolean negative = take('-');
      if (!negative) {
        expect('+');
      }
      long seconds = number() * 3600L;
      if (take(':')) {
        seconds += sixtieths() * 60L;
        if (take(':')) {
          seconds += sixtieths();
        }
      }
      if (seconds >= ZONE_LIMIT) {
        throw malformed();
      }
      return ZoneOffset.ofTotalSeconds((int) (negative ? -seconds : seconds));
    }

    private int sixtieths() {
      int number = number();
      if (number > 59) {
        throw malformed();
      }
      return number;
    }

    /** Nothing may follow. */
    void end() {
      if (more()) {
        throw malformed();
      }
    }

    /** Nothing may follow but the mark for years before Christ, which {@link #date} has seen. */
    void endOfDate() {
      if (text.startsWith(" BC", at)) {
        at += 3;
      }
      end();
    }
  }

  /** Microseconds of a time of day; LocalTime.MAX stands for 24:00:00, which LocalTime lacks. */
  static long micros(LocalTime time) {
    return time.equals(LocalTime.MAX) ? DAY : time.toNanoOfDay() / 1000;
  }

  /** The time of day of microseconds since midnight. */
  static LocalTime time(long micros) {
    if (micros == DAY) {
      return LocalTime.MAX;
    }
    // A product that overflows could be a time again.
    return LocalTime.ofNanoOfDay(micros >= 0 && micros < DAY ? micros * 1000 : -1);
  }
}
