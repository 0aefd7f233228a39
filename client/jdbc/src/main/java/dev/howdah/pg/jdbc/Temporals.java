package dev.howdah.pg.jdbc;

import java.sql.Date;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneId;
import java.util.Calendar;
import java.util.GregorianCalendar;
import java.util.TimeZone;

/**
 * Between the server's dates and times and the classes of java.sql, which are instants in disguise:
 * a calendar, or the JVM's time zone, says which fields they have.
 */
final class Temporals {
  /** The date of a time of day, as java.sql.Time has it. */
  private static final LocalDate EPOCH = LocalDate.EPOCH;

  /**
   * The infinite dates and timestamps, in milliseconds that calendars can still compute with;
   * pgjdbc has the same.
   */
  private static final long INFINITY = 9_223_372_036_825_200_000L;

  private static final long MINUS_INFINITY = -9_223_372_036_832_400_000L;

  /** When the Gregorian calendar begins, for who gives no calendar. */
  private static final java.util.Date CHANGE = new GregorianCalendar().getGregorianChange();

  private static final long DAY = 86_400_000;

  private Temporals() {}

  static ZoneId zone(Calendar calendar) {
    return calendar == null ? ZoneId.systemDefault() : calendar.getTimeZone().toZoneId();
  }

  private static long millis(LocalDateTime local, Calendar calendar) {
    GregorianCalendar fields = gregorian(calendar);
    fields.clear();
    int year = local.getYear();
    fields.set(Calendar.ERA, year > 0 ? GregorianCalendar.AD : GregorianCalendar.BC);
    fields.set(
        year > 0 ? year : 1 - year,
        local.getMonthValue() - 1,
        local.getDayOfMonth(),
        local.getHour(),
        local.getMinute(),
        local.getSecond());
    return fields.getTimeInMillis();
  }

  static Timestamp timestamp(LocalDateTime local, Calendar calendar) {
    if (local.equals(LocalDateTime.MAX) || local.equals(LocalDateTime.MIN)) {
      return new Timestamp(local.equals(LocalDateTime.MAX) ? INFINITY : MINUS_INFINITY);
    }
    if (calendar == null) {
      return Timestamp.valueOf(local);
    }
    Timestamp timestamp = new Timestamp(millis(local, calendar));
    timestamp.setNanos(local.getNano());
    return timestamp;
  }

  static Timestamp timestamp(OffsetDateTime moment) {
    if (moment.equals(OffsetDateTime.MAX) || moment.equals(OffsetDateTime.MIN)) {
      return new Timestamp(moment.equals(OffsetDateTime.MAX) ? INFINITY : MINUS_INFINITY);
    }
    return Timestamp.from(moment.toInstant());
  }

  static Date date(LocalDate local, Calendar calendar) {
    if (local.equals(LocalDate.MAX) || local.equals(LocalDate.MIN)) {
      return new Date(local.equals(LocalDate.MAX) ? INFINITY : MINUS_INFINITY);
    }
    return calendar == null
        ? Date.valueOf(local)
        : new Date(millis(local.atStartOfDay(), calendar));
  }

  /** A time of day; 24:00 is the end of the day, which is the start of the next. */
  static Time time(LocalTime local, Calendar calendar) {
    LocalDateTime moment =
        local.equals(LocalTime.MAX) ? EPOCH.plusDays(1).atStartOfDay() : EPOCH.atTime(local);
    return new Time(millis(moment, calendar) + moment.getNano() / 1_000_000);
  }

  static Time time(OffsetTime time) {
    LocalDateTime moment =
        time.toLocalTime().equals(LocalTime.MAX)
            ? EPOCH.plusDays(1).atStartOfDay()
            : EPOCH.atTime(time.toLocalTime());
    return new Time(moment.toInstant(time.getOffset()).toEpochMilli());
  }

  /** A calendar like the one given, with its change from the Julian one; of others the zone. */
  private static GregorianCalendar gregorian(Calendar calendar) {
    return calendar instanceof GregorianCalendar given
        ? (GregorianCalendar) given.clone()
        : new GregorianCalendar(calendar == null ? TimeZone.getDefault() : calendar.getTimeZone());
  }

  /** The fields that an instant has by a calendar. */
  private static GregorianCalendar fields(long millis, Calendar calendar) {
    GregorianCalendar fields = gregorian(calendar);
    fields.setTimeInMillis(millis);
    return fields;
  }

  /** A calendar at UTC that is Gregorian at all times, as the server's is. */
  private static GregorianCalendar proleptic() {
    GregorianCalendar calendar = new GregorianCalendar(TimeZone.getTimeZone("UTC"));
    calendar.setGregorianChange(new java.util.Date(Long.MIN_VALUE));
    return calendar;
  }

  /**
   * Whether an instant may have Julian fields: zones differ by less than a day in when those end.
   */
  private static boolean mayBeJulian(long millis, Calendar calendar) {
    long change =
        calendar instanceof GregorianCalendar given
            ? given.getGregorianChange().getTime()
            : CHANGE.getTime();
    return !isInfinite(millis) && millis - DAY < change;
  }

  /** What is sent for a timestamp: its text, or a {@link Moment}. */
  static Object sent(Timestamp value, Calendar calendar) {
    String fields = text(value, calendar);
    return mayBeJulian(value.getTime(), calendar)
        ? new Moment(fields, text(value, proleptic()))
        : fields;
  }

  /** What is sent for a date, whose moment is its beginning: its text, or a {@link Moment}. */
  static Object sent(Date value, Calendar calendar) {
    String fields = text(value, calendar);
    if (!mayBeJulian(value.getTime(), calendar)) {
      return fields;
    }
    GregorianCalendar start = fields(value.getTime(), calendar);
    start.set(Calendar.HOUR_OF_DAY, 0);
    start.clear(Calendar.MINUTE);
    start.clear(Calendar.SECOND);
    start.clear(Calendar.MILLISECOND);
    return new Moment(fields, text(new Timestamp(start.getTimeInMillis()), proleptic()));
  }

  /**
   * The text of a timestamp, which the server takes for a date, a timestamp with a time zone or
   * without one.
   */
  static String text(Timestamp value, Calendar calendar) {
    if (isInfinite(value.getTime())) {
      return infinity(value.getTime());
    }
    GregorianCalendar fields = fields(value.getTime(), calendar);
    StringBuilder text = day(fields).append(' ');
    clock(fields, value.getNanos(), text);
    return era(fields, offset(fields, text));
  }

  static String text(Date value, Calendar calendar) {
    if (isInfinite(value.getTime())) {
      return infinity(value.getTime());
    }
    GregorianCalendar fields = fields(value.getTime(), calendar);
    return era(fields, offset(fields, day(fields).append(' ')));
  }

  static String text(Time value, Calendar calendar) {
    GregorianCalendar fields = fields(value.getTime(), calendar);
    StringBuilder text = new StringBuilder();
    clock(fields, Math.floorMod(value.getTime(), 1000) * 1_000_000, text);
    return offset(fields, text).toString();
  }

  private static boolean isInfinite(long millis) {
    return millis >= INFINITY || millis <= MINUS_INFINITY;
  }

  private static String infinity(long millis) {
    return millis > 0 ? "infinity" : "-infinity";
  }

  private static StringBuilder day(GregorianCalendar fields) {
    StringBuilder text = new StringBuilder(40);
    padded(text, fields.get(Calendar.YEAR), 4);
    two(text.append('-'), fields.get(Calendar.MONTH) + 1);
    return two(text.append('-'), fields.get(Calendar.DAY_OF_MONTH));
  }

  private static void clock(GregorianCalendar fields, int nanos, StringBuilder text) {
    two(text, fields.get(Calendar.HOUR_OF_DAY));
    two(text.append(':'), fields.get(Calendar.MINUTE));
    two(text.append(':'), fields.get(Calendar.SECOND));
    if (nanos > 0) {
      padded(text.append('.'), nanos, 9);
    }
  }

  private static StringBuilder two(StringBuilder text, int number) {
    return padded(text, number, 2);
  }

  private static StringBuilder padded(StringBuilder text, int number, int width) {
    String digits = Integer.toString(number);
    return text.append("0".repeat(Math.max(0, width - digits.length()))).append(digits);
  }

  private static StringBuilder offset(GregorianCalendar fields, StringBuilder text) {
    int seconds = (fields.get(Calendar.ZONE_OFFSET) + fields.get(Calendar.DST_OFFSET)) / 1000;
    text.append(seconds < 0 ? '-' : '+');
    int size = Math.abs(seconds);
    two(text, size / 3600);
    two(text.append(':'), size / 60 % 60);
    return size % 60 == 0 ? text : two(text.append(':'), size % 60);
  }

  private static String era(GregorianCalendar fields, StringBuilder text) {
    return text.append(fields.get(Calendar.ERA) == GregorianCalendar.BC ? " BC" : "").toString();
  }
}
