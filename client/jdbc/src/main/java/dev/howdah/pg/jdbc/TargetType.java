package dev.howdah.pg.jdbc;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.sql.Date;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.temporal.Temporal;
import java.util.Locale;

/** Converts a value to the type that a caller of setObject names. */
final class TargetType {
  private TargetType() {}

  static Object convert(Object value, int type, int scale) throws SQLException {
    return SqlErrors.translated(
        () ->
            switch (type) {
              case Types.TINYINT, Types.SMALLINT -> decimal(value).shortValueExact();
              case Types.INTEGER -> decimal(value).intValueExact();
              case Types.BIGINT -> decimal(value).longValueExact();
              case Types.REAL -> Float.valueOf(text(value));
              case Types.FLOAT, Types.DOUBLE ->
                  value instanceof Number number
                      ? number.doubleValue()
                      : Double.valueOf(text(value));
              case Types.NUMERIC, Types.DECIMAL -> scaled(value, scale);
              case Types.BIT, Types.BOOLEAN -> bool(value);
              case Types.CHAR,
                  Types.VARCHAR,
                  Types.LONGVARCHAR,
                  Types.NCHAR,
                  Types.NVARCHAR,
                  Types.LONGNVARCHAR ->
                  string(value);
              case Types.DATE -> date(value);
              case Types.TIME, Types.TIME_WITH_TIMEZONE -> time(value);
              case Types.TIMESTAMP, Types.TIMESTAMP_WITH_TIMEZONE -> timestamp(value);
              // The value's own class says enough, as with arrays.
              default -> value;
            });
  }

  static <T> T cast(Object value, Class<T> wanted) throws SQLException {
    if (!wanted.isInstance(value)) {
      throw SqlErrors.error(
          "22018", "cannot make a " + wanted.getSimpleName() + " of " + value.getClass().getName());
    }
    return wanted.cast(value);
  }

  private static String text(Object value) {
    return value instanceof Boolean flag ? (flag ? "1" : "0") : value.toString().trim();
  }

  private static BigDecimal decimal(Object value) {
    return value instanceof BigDecimal number
        ? number.setScale(0, RoundingMode.DOWN)
        : new BigDecimal(text(value)).setScale(0, RoundingMode.DOWN);
  }

  private static Object scaled(Object value, int scale) {
    if (value instanceof Double number && !Double.isFinite(number)
        || value instanceof Float small && !Float.isFinite(small)) {
      return value;
    }
    BigDecimal number = value instanceof BigDecimal given ? given : new BigDecimal(text(value));
    return scale < 0 ? number : number.setScale(scale, RoundingMode.HALF_UP);
  }

  private static Boolean bool(Object value) throws SQLException {
    if (value instanceof Boolean flag) {
      return flag;
    }
    return switch (text(value).toLowerCase(Locale.ROOT)) {
      case "t", "true", "y", "yes", "on", "1", "1.0" -> true;
      case "f", "false", "n", "no", "off", "0", "0.0" -> false;
      default -> throw SqlErrors.error("22018", "cannot make a boolean of " + value);
    };
  }

  private static Object string(Object value) throws SQLException {
    Parameter parameter = Parameter.of(value);
    Object sent = parameter.value();
    return sent instanceof String || sent instanceof Moment ? sent.toString() : value.toString();
  }

  private static Object date(Object value) {
    return value instanceof java.util.Date date && !(value instanceof Date)
        ? new Date(date.getTime())
        : stringOr(value);
  }

  private static Object time(Object value) {
    return value instanceof java.util.Date date && !(value instanceof Time)
        ? new Time(date.getTime())
        : stringOr(value);
  }

  private static Object timestamp(Object value) {
    return value instanceof java.util.Date date && !(value instanceof Timestamp)
        ? new Timestamp(date.getTime())
        : stringOr(value);
  }

  /** What belongs to java.time says itself what it is; all else is for the server to parse. */
  private static Object stringOr(Object value) {
    return value instanceof Temporal
            || value instanceof java.util.Date
            || value instanceof java.util.Calendar
        ? value
        : value.toString();
  }
}
