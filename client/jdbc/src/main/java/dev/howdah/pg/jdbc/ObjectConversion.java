package dev.howdah.pg.jdbc;

import dev.howdah.pg.Row;
import dev.howdah.pg.types.Interval;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Date;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Calendar;

/** Converts cells that are not null to the class that a caller of getObject wants. */
final class ObjectConversion {
  private ObjectConversion() {}

  static Date date(Row row, int column, JdbcType type, Calendar calendar) throws SQLException {
    Object value = Cells.temporal(row, column, type, "a date");
    if (value instanceof LocalDate date) {
      return Temporals.date(date, calendar);
    } else if (value instanceof LocalDateTime local) {
      return Temporals.date(local.toLocalDate(), calendar);
    } else if (value instanceof OffsetDateTime moment) {
      return Temporals.date(local(moment, Temporals.zone(calendar)).toLocalDate(), calendar);
    }
    throw Cells.cannot(row, column, "a date");
  }

  static Time time(Row row, int column, JdbcType type, Calendar calendar) throws SQLException {
    Object value = Cells.temporal(row, column, type, "a time");
    if (value instanceof LocalTime time) {
      return Temporals.time(time, calendar);
    } else if (value instanceof OffsetTime time) {
      return Temporals.time(time);
    }
    LocalDateTime local =
        value instanceof LocalDateTime given
            ? given
            : value instanceof OffsetDateTime moment
                ? local(moment, Temporals.zone(calendar))
                : null;
    if (local == null || isInfinite(local)) {
      throw Cells.cannot(row, column, "a time");
    }
    return Temporals.time(local.toLocalTime(), calendar);
  }

  static Timestamp timestamp(Row row, int column, JdbcType type, Calendar calendar)
      throws SQLException {
    Object value = Cells.temporal(row, column, type, "a timestamp");
    if (value instanceof LocalDateTime local) {
      return Temporals.timestamp(local, calendar);
    } else if (value instanceof OffsetDateTime moment) {
      return Temporals.timestamp(moment);
    } else if (value instanceof LocalDate date) {
      return Temporals.timestamp(startOf(date), calendar);
    } else if (value instanceof LocalTime time) {
      return new Timestamp(Temporals.time(time, calendar).getTime());
    }
    return new Timestamp(Temporals.time((OffsetTime) value).getTime());
  }

  /** Infinity stays infinity, here and below. */
  private static LocalDateTime startOf(LocalDate date) {
    return date.equals(LocalDate.MAX)
        ? LocalDateTime.MAX
        : date.equals(LocalDate.MIN) ? LocalDateTime.MIN : date.atStartOfDay();
  }

  private static boolean isInfinite(LocalDateTime local) {
    return local.equals(LocalDateTime.MAX) || local.equals(LocalDateTime.MIN);
  }

  private static LocalDateTime local(OffsetDateTime moment, ZoneId zone) {
    if (moment.equals(OffsetDateTime.MAX) || moment.equals(OffsetDateTime.MIN)) {
      return moment.equals(OffsetDateTime.MAX) ? LocalDateTime.MAX : LocalDateTime.MIN;
    }
    return moment.atZoneSameInstant(zone).toLocalDateTime();
  }

  /**
   * The value that getObject without a class returns: the classes of java.sql where JDBC has some.
   */
  static Object standard(Row row, int column, JdbcType type, JdbcConnection connection)
      throws SQLException {
    return switch (type.kind()) {
      case DATE -> date(row, column, type, null);
      case TIME, TIMETZ -> time(row, column, type, null);
      case TIMESTAMP, TIMESTAMPTZ -> timestamp(row, column, type, null);
      case ARRAY -> JdbcArray.read(row, column, connection);
      case BIT -> bit(row.getString(column));
      default -> row.getObject(column);
    };
  }

  /** One bit is what JDBC calls BIT, true or false; of several each is a digit. */
  private static Object bit(String digits) {
    return digits == null || digits.length() != 1 ? digits : (Object) digits.equals("1");
  }

  static <T> T to(Row row, int column, JdbcType type, Class<T> wanted, JdbcConnection connection)
      throws SQLException {
    if (wanted == Object.class) {
      return wanted.cast(standard(row, column, type, connection));
    }
    Object value = number(row, column, type, wanted);
    if (value == null) {
      value = temporal(row, column, type, wanted);
    }
    if (value == null) {
      value = other(row, column, type, wanted, connection);
    }
    if (!wanted.isInstance(value)) {
      throw Cells.cannot(row, column, wanted.getName());
    }
    return wanted.cast(value);
  }

  private static Object number(Row row, int column, JdbcType type, Class<?> wanted)
      throws SQLException {
    if (wanted == Integer.class) {
      return (int) Cells.whole(row, column, type, Integer.MIN_VALUE, Integer.MAX_VALUE, "an int");
    } else if (wanted == Long.class) {
      return Cells.whole(row, column, type, Long.MIN_VALUE, Long.MAX_VALUE, "a long");
    } else if (wanted == Short.class) {
      return (short) Cells.whole(row, column, type, Short.MIN_VALUE, Short.MAX_VALUE, "a short");
    } else if (wanted == Byte.class) {
      return (byte) Cells.whole(row, column, type, Byte.MIN_VALUE, Byte.MAX_VALUE, "a byte");
    } else if (wanted == Double.class) {
      return Cells.floating(row, column, type, "a double");
    } else if (wanted == Float.class) {
      return (float) Cells.floating(row, column, type, "a float");
    } else if (wanted == BigDecimal.class) {
      return Cells.decimal(row, column, type, "a BigDecimal");
    } else if (wanted == BigInteger.class) {
      return Cells.decimal(row, column, type, "a BigInteger").toBigInteger();
    }
    return wanted == Boolean.class ? Cells.bool(row, column, type) : null;
  }

  private static Object temporal(Row row, int column, JdbcType type, Class<?> wanted)
      throws SQLException {
    if (wanted == Date.class) {
      return date(row, column, type, null);
    } else if (wanted == Time.class) {
      return time(row, column, type, null);
    } else if (wanted == Timestamp.class || wanted == java.util.Date.class) {
      return timestamp(row, column, type, null);
    } else if (wanted == Calendar.class) {
      Calendar calendar = Calendar.getInstance();
      calendar.setTime(timestamp(row, column, type, null));
      return calendar;
    }
    return wanted.getName().startsWith("java.time.") ? javaTime(row, column, type, wanted) : null;
  }

  private static Object javaTime(Row row, int column, JdbcType type, Class<?> wanted)
      throws SQLException {
    if (wanted == Period.class || wanted == Duration.class) {
      return ofInterval(row, column, wanted);
    }
    Object value = Cells.temporal(row, column, type, wanted.getName());
    if (wanted.isInstance(value)) {
      return value;
    } else if (value instanceof OffsetDateTime moment) {
      return ofMoment(moment, wanted);
    } else if (value instanceof LocalDateTime local) {
      return ofLocal(local, wanted);
    } else if (value instanceof LocalDate date) {
      return wanted == LocalDateTime.class ? startOf(date) : null;
    } else if (value instanceof OffsetTime time) {
      return wanted == LocalTime.class ? time.toLocalTime() : null;
    }
    return value instanceof LocalTime time && wanted == OffsetTime.class
        ? time.atOffset(ZoneOffset.UTC)
        : null;
  }

  private static Object ofMoment(OffsetDateTime moment, Class<?> wanted) {
    if (wanted == Instant.class) {
      return moment.equals(OffsetDateTime.MAX)
          ? Instant.MAX
          : moment.equals(OffsetDateTime.MIN) ? Instant.MIN : moment.toInstant();
    } else if (wanted == ZonedDateTime.class) {
      return moment.atZoneSameInstant(ZoneId.systemDefault());
    }
    return ofLocal(local(moment, ZoneId.systemDefault()), wanted);
  }

  /** The part of a date and time that is wanted; infinity has no time of day. */
  private static Object ofLocal(LocalDateTime local, Class<?> wanted) {
    if (wanted == LocalDateTime.class) {
      return local;
    }
    return wanted == LocalDate.class
        ? local.toLocalDate()
        : wanted == LocalTime.class && !isInfinite(local) ? local.toLocalTime() : null;
  }

  private static Object ofInterval(Row row, int column, Class<?> wanted) {
    if (!(row.getObject(column) instanceof Interval interval)) {
      return null;
    }
    boolean months = interval.months() != 0 || interval.days() != 0;
    if (wanted == Period.class) {
      return interval.micros() == 0 ? interval.period() : null;
    }
    return months ? null : interval.duration();
  }

  private static Object other(
      Row row, int column, JdbcType type, Class<?> wanted, JdbcConnection connection)
      throws SQLException {
    if (wanted == String.class) {
      return row.getString(column);
    } else if (wanted == byte[].class) {
      return Cells.bytes(row, column, type);
    } else if (wanted == java.sql.Blob.class) {
      return Lobs.blob(row, column, type, connection);
    } else if (wanted == java.sql.Clob.class || wanted == java.sql.NClob.class) {
      return Lobs.clob(row, column, type, connection);
    } else if (wanted == java.sql.Array.class || wanted.isArray()) {
      JdbcArray array = JdbcArray.read(row, column, connection);
      return wanted.isArray() ? array.as(wanted) : array;
    } else if (wanted == java.util.UUID.class && type.kind() == JdbcType.Kind.TEXT) {
      return java.util.UUID.fromString(row.getString(column));
    } else if (wanted == java.net.InetAddress.class
        && row.getObject(column) instanceof dev.howdah.pg.types.Inet inet) {
      return inet.address();
    }
    return row.getObject(column);
  }
}
