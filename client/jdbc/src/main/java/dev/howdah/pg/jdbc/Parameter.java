package dev.howdah.pg.jdbc;

import dev.howdah.pg.types.Interval;
import dev.howdah.pg.types.TypeOptions;
import dev.howdah.pg.types.TypeRegistry;
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
import java.time.ZonedDateTime;
import java.time.temporal.ChronoField;
import java.time.temporal.Temporal;
import java.util.Calendar;
import java.util.Map;
import java.util.UUID;

/**
 * A value for a placeholder.
 *
 * <p>Numbers, booleans and the classes of java.time say of which type they are. Strings and
 * java.sql's dates and times say nothing: the server takes them for whatever type it expects at
 * that place.
 *
 * @param value what the client sends
 * @param type the type that is declared, or null
 * @param fallback the type to declare where the server cannot infer one, or null
 */
record Parameter(Object value, String type, String fallback) {
  private static final Instant FIRST_PLAIN = Instant.parse("0001-01-01T00:00:00Z");
  private static final Instant LAST_PLAIN = Instant.parse("9999-12-31T00:00:00Z");
  private static final TypeRegistry WRITTEN = new TypeRegistry(TypeOptions.NONE);

  static final Parameter NULL = new Parameter(null, null, "text");

  private static final Map<Class<?>, String> TYPES =
      Map.ofEntries(
          Map.entry(Boolean.class, "bool"),
          Map.entry(Byte.class, "int2"),
          Map.entry(Short.class, "int2"),
          Map.entry(Integer.class, "int4"),
          Map.entry(Long.class, "int8"),
          Map.entry(Float.class, "float4"),
          Map.entry(Double.class, "float8"),
          Map.entry(BigDecimal.class, "numeric"),
          Map.entry(BigInteger.class, "numeric"),
          Map.entry(byte[].class, "bytea"),
          Map.entry(UUID.class, "uuid"),
          Map.entry(LocalDate.class, "date"),
          Map.entry(LocalTime.class, "time"),
          Map.entry(OffsetTime.class, "timetz"),
          Map.entry(LocalDateTime.class, "timestamp"),
          Map.entry(OffsetDateTime.class, "timestamptz"),
          Map.entry(ZonedDateTime.class, "timestamptz"),
          Map.entry(Instant.class, "timestamptz"),
          Map.entry(Interval.class, "interval"),
          Map.entry(Duration.class, "interval"),
          Map.entry(Period.class, "interval"));

  private static final Map<Class<?>, String> ARRAYS =
      Map.ofEntries(
          Map.entry(boolean[].class, "bool[]"),
          Map.entry(short[].class, "int2[]"),
          Map.entry(int[].class, "int4[]"),
          Map.entry(long[].class, "int8[]"),
          Map.entry(float[].class, "float4[]"),
          Map.entry(double[].class, "float8[]"),
          Map.entry(Boolean[].class, "bool[]"),
          Map.entry(Short[].class, "int2[]"),
          Map.entry(Integer[].class, "int4[]"),
          Map.entry(Long[].class, "int8[]"),
          Map.entry(Float[].class, "float4[]"),
          Map.entry(Double[].class, "float8[]"),
          Map.entry(BigDecimal[].class, "numeric[]"),
          Map.entry(UUID[].class, "uuid[]"),
          Map.entry(byte[][].class, "bytea[]"));

  static Parameter of(Object value) throws SQLException {
    if (value == null) {
      return NULL;
    }
    String type = TYPES.get(value.getClass());
    if (type != null) {
      return new Parameter(value, type, type);
    }
    if (value instanceof CharSequence || value instanceof Character) {
      return new Parameter(value.toString(), null, "text");
    } else if (value instanceof java.util.Date date) {
      return ofDate(date, null);
    } else if (value instanceof Calendar calendar) {
      return ofDate(new Timestamp(calendar.getTimeInMillis()), calendar);
    } else if (value instanceof Enum<?> constant) {
      return new Parameter(constant.name(), null, "text");
    }
    return ofOther(value);
  }

  /**
   * A value as text, which the server takes for whatever it expects there, and of its own type only
   * where that is nothing. Bytes and a UUID keep their type, as with pgjdbc.
   */
  static Parameter untyped(Object value) throws SQLException {
    Parameter typed = of(value);
    if (typed.type() == null || value instanceof byte[] || value instanceof UUID) {
      return typed;
    }
    return new Parameter(written(typed), null, typed.type());
  }

  /**
   * A moment has the text that Java gives it, with its own offset, as far as the server reads that:
   * not infinity, nor years before 1.
   */
  private static String written(Parameter typed) {
    Object value =
        typed.value() instanceof ZonedDateTime zoned ? zoned.toOffsetDateTime() : typed.value();
    boolean plain =
        value instanceof String
            || value instanceof Boolean
            || value instanceof Temporal moment && isPlain(moment);
    return plain ? value.toString() : WRITTEN.codec(TypeNumbers.of(typed.type())).format(value);
  }

  private static boolean isPlain(Temporal moment) {
    if (moment instanceof Instant instant) {
      return !instant.isBefore(FIRST_PLAIN) && instant.isBefore(LAST_PLAIN);
    }
    int year = moment.isSupported(ChronoField.YEAR) ? moment.get(ChronoField.YEAR) : 1;
    return year >= 1 && year <= 9999;
  }

  private static Parameter ofOther(Object value) throws SQLException {
    if (value instanceof java.sql.Array array) {
      return new Parameter(
          array instanceof JdbcArray own ? own.sent() : ArrayText.sent(array.getArray()),
          array.getBaseTypeName() + "[]",
          null);
    } else if (value.getClass().isArray()) {
      String type = ARRAYS.get(value.getClass());
      return new Parameter(ArrayText.sent(value), type, type == null ? "text[]" : type);
    } else if (value instanceof java.sql.Blob
        || value instanceof java.sql.Clob
        || value instanceof java.sql.SQLXML
        || value instanceof java.sql.Struct
        || value instanceof java.sql.Ref
        || value instanceof java.sql.RowId) {
      throw Refusals.parameter(value.getClass().getSimpleName());
    }
    // One of the client's own classes, a List or a Map: the type's codec takes it or says why not.
    return new Parameter(value, null, null);
  }

  /**
   * A date or time of java.sql, its fields by a calendar; java.util's own is taken for a timestamp.
   */
  static Parameter ofDate(java.util.Date value, Calendar calendar) {
    if (value == null) {
      return NULL;
    } else if (value instanceof Date date) {
      return new Parameter(Temporals.sent(date, calendar), null, "date");
    } else if (value instanceof Time time) {
      return new Parameter(Temporals.text(time, calendar), null, "time");
    }
    Timestamp timestamp = value instanceof Timestamp given ? given : new Timestamp(value.getTime());
    return new Parameter(Temporals.sent(timestamp, calendar), null, "timestamptz");
  }
}
