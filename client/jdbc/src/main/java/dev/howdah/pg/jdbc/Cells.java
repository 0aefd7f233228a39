package dev.howdah.pg.jdbc;

import dev.howdah.pg.Row;
import dev.howdah.pg.types.Codec;
import dev.howdah.pg.types.TypeOptions;
import dev.howdah.pg.types.TypeRegistry;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.Locale;

/** Converts cells that are not null to what JDBC's getters return. Columns count from 0 here. */
final class Cells {
  private static final TypeRegistry TYPES = new TypeRegistry(TypeOptions.NONE);

  private Cells() {}

  static SQLException cannot(Row row, int column, String wanted) {
    return SqlErrors.error(
        "22018",
        "column "
            + row.columns().get(column).name()
            + " of type "
            + row.columns().get(column).codec().name()
            + " cannot be read as "
            + wanted
            + ": "
            + shown(row.getString(column)));
  }

  private static String shown(String text) {
    return text.length() <= 80 ? text : text.substring(0, 80) + "…";
  }

  private static SQLException outOfRange(Object value, String wanted) {
    return SqlErrors.error("22003", value + " does not fit " + wanted);
  }

  /** A whole number; what stands behind the point is cut off. */
  static long whole(Row row, int column, JdbcType type, long least, long greatest, String wanted)
      throws SQLException {
    long value =
        switch (type.kind()) {
          case WHOLE -> row.getLong(column);
          case BOOLEAN -> row.getBoolean(column) ? 1 : 0;
          case FLOAT -> truncated(row.getDouble(column), wanted);
          default -> truncated(decimal(row, column, type, wanted), wanted);
        };
    if (value < least || value > greatest) {
      throw outOfRange(value, wanted);
    }
    return value;
  }

  private static long truncated(double value, String wanted) throws SQLException {
    if (value >= Long.MIN_VALUE && value < 0x1p63) {
      return (long) value;
    }
    throw outOfRange(value, wanted);
  }

  private static long truncated(BigDecimal value, String wanted) throws SQLException {
    // A number of a billion digits would be made before it is refused.
    if (value.precision() - (long) value.scale() > 19) {
      throw outOfRange(value.precision() > 40 ? "the number" : value.toString(), wanted);
    }
    BigInteger whole = value.toBigInteger();
    if (whole.bitLength() > 63) {
      throw outOfRange(value, wanted);
    }
    return whole.longValue();
  }

  static BigDecimal decimal(Row row, int column, JdbcType type, String wanted) throws SQLException {
    switch (type.kind()) {
      case WHOLE -> {
        return BigDecimal.valueOf(row.getLong(column));
      }
      case BOOLEAN -> {
        return row.getBoolean(column) ? BigDecimal.ONE : BigDecimal.ZERO;
      }
      case NUMERIC -> {
        if (row.getObject(column) instanceof BigDecimal value) {
          return value;
        }
        throw outOfRange(row.getString(column), wanted);
      }
      default -> {
        return parsed(row, column, wanted);
      }
    }
  }

  private static BigDecimal parsed(Row row, int column, String wanted) throws SQLException {
    try {
      return new BigDecimal(number(row, column));
    } catch (NumberFormatException e) {
      throw cannot(row, column, wanted);
    }
  }

  /**
   * The text of a number; money's has a currency and separators, and is in parentheses if negative.
   */
  private static String number(Row row, int column) {
    String text = row.getString(column).trim();
    if (!row.columns().get(column).codec().name().equals("money")) {
      return text;
    }
    boolean negative = text.startsWith("(") || text.startsWith("-");
    return (negative ? "-" : "") + text.replaceAll("[^0-9.]", "");
  }

  static double floating(Row row, int column, JdbcType type, String wanted) throws SQLException {
    switch (type.kind()) {
      case WHOLE, FLOAT, NUMERIC -> {
        return row.getDouble(column);
      }
      case BOOLEAN -> {
        return row.getBoolean(column) ? 1 : 0;
      }
      default -> {
        try {
          return Double.parseDouble(number(row, column));
        } catch (NumberFormatException e) {
          throw cannot(row, column, wanted);
        }
      }
    }
  }

  static boolean bool(Row row, int column, JdbcType type) throws SQLException {
    switch (type.kind()) {
      case BOOLEAN -> {
        return row.getBoolean(column);
      }
      case WHOLE, FLOAT, NUMERIC -> {
        double value = row.getDouble(column);
        if (value == 0 || value == 1) {
          return value == 1;
        }
        throw cannot(row, column, "a boolean");
      }
      default -> {
        return switch (row.getString(column).trim().toLowerCase(Locale.ROOT)) {
          case "t", "true", "y", "yes", "on", "1" -> true;
          case "f", "false", "n", "no", "off", "0" -> false;
          default -> throw cannot(row, column, "a boolean");
        };
      }
    }
  }

  /** bytea's content, and of other types their text; the row itself has the bytes as they came. */
  static byte[] bytes(Row row, int column, JdbcType type) {
    return type.kind() == JdbcType.Kind.BYTES
        ? row.getBytes(column)
        : row.getString(column).getBytes(StandardCharsets.UTF_8);
  }

  /** A value of a date or time type; text is parsed as the first of the types that has its form. */
  static Object temporal(Row row, int column, JdbcType type, String wanted) throws SQLException {
    return switch (type.kind()) {
      case DATE, TIME, TIMETZ, TIMESTAMP, TIMESTAMPTZ -> row.getObject(column);
      case TEXT -> parsedTemporal(row, column, wanted);
      default -> throw cannot(row, column, wanted);
    };
  }

  private static Object parsedTemporal(Row row, int column, String wanted) throws SQLException {
    String text = row.getString(column).trim();
    for (int type : new int[] {1114, 1184, 1082, 1083, 1266}) {
      Codec codec = TYPES.codec(type);
      try {
        return codec.parse(text);
      } catch (dev.howdah.pg.PgException e) {
        continue;
      }
    }
    throw cannot(row, column, wanted);
  }
}
