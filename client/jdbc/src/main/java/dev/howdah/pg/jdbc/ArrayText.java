package dev.howdah.pg.jdbc;

import dev.howdah.pg.types.Inet;
import dev.howdah.pg.types.Interval;
import dev.howdah.pg.types.TypeOptions;
import dev.howdah.pg.types.TypeRegistry;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.ZonedDateTime;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Writes arrays as the server's text of them, which it parses as whatever type is wanted. */
final class ArrayText {
  private static final TypeRegistry TYPES = new TypeRegistry(TypeOptions.NONE);

  /** The types whose text is not what their classes' toString says, by number. */
  private static final Map<Class<?>, Integer> FORMATTED =
      Map.ofEntries(
          Map.entry(LocalDate.class, 1082),
          Map.entry(LocalTime.class, 1083),
          Map.entry(OffsetTime.class, 1266),
          Map.entry(LocalDateTime.class, 1114),
          Map.entry(OffsetDateTime.class, 1184),
          Map.entry(ZonedDateTime.class, 1184),
          Map.entry(Instant.class, 1184),
          Map.entry(Interval.class, 1186),
          Map.entry(Duration.class, 1186),
          Map.entry(Period.class, 1186));

  private ArrayText() {}

  /** What is sent for a Java array or a list, of any depth: its text, or a {@link Moment}. */
  static Object sent(Object array) throws SQLException {
    StringBuilder fields = new StringBuilder();
    if (!write(array, fields, false)) {
      return fields.toString();
    }
    StringBuilder instants = new StringBuilder();
    write(array, instants, true);
    return new Moment(fields.toString(), instants.toString());
  }

  private static boolean isNested(Object value) {
    return value instanceof List
        || value != null && value.getClass().isArray() && !(value instanceof byte[]);
  }

  /** Writes the text, with instants or with fields; returns whether there is a difference. */
  private static boolean write(Object array, StringBuilder text, boolean instants)
      throws SQLException {
    boolean differs = false;
    boolean list = array instanceof List;
    int length = list ? ((List<?>) array).size() : java.lang.reflect.Array.getLength(array);
    text.append('{');
    for (int i = 0; i < length; i++) {
      Object value = list ? ((List<?>) array).get(i) : java.lang.reflect.Array.get(array, i);
      text.append(i > 0 ? "," : "");
      if (isNested(value)) {
        differs |= write(value, text, instants);
      } else if (value == null) {
        text.append("NULL");
      } else {
        Object element = element(value);
        differs |= element instanceof Moment;
        quoted(element instanceof Moment moment && instants ? moment.instant() : element, text);
      }
    }
    text.append('}');
    return differs;
  }

  /** The text of an element, or a {@link Moment}. */
  private static Object element(Object value) throws SQLException {
    if (value instanceof byte[] bytes) {
      return "\\x" + HexFormat.of().formatHex(bytes);
    }
    Object sent = Parameter.of(value).value();
    if (sent instanceof Moment) {
      return sent;
    }
    Integer type = FORMATTED.get(sent.getClass());
    if (type != null) {
      return TYPES.codec(type).format(sent);
    }
    if (sent instanceof CharSequence
        || sent instanceof Number
        || sent instanceof Boolean
        || sent instanceof UUID
        || sent instanceof Inet) {
      return sent.toString();
    }
    throw SqlErrors.error(
        "22018",
        "an array of JDBC cannot hold a "
            + value.getClass().getName()
            + "; give setObject a List of them, for a parameter whose type the server knows");
  }

  private static void quoted(Object element, StringBuilder text) {
    String value = element.toString();
    text.append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        text.append('\\');
      }
      text.append(c);
    }
    text.append('"');
  }
}
