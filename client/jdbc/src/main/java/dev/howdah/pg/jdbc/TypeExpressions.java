package dev.howdah.pg.jdbc;

import java.sql.Types;

/** SQL expressions for what JDBC wants to know of a type. */
final class TypeExpressions {
  private TypeExpressions() {}

  /** An expression for JDBC's number of a type, of a row of pg_type. */
  static String number(String type) {
    StringBuilder cases = new StringBuilder("(case " + type + ".typname");
    for (JdbcType known : JdbcType.known()) {
      cases.append(" when '").append(known.name()).append("' then ").append(known.number());
    }
    return cases
        + " else case when "
        + type
        + ".typtype = 'd' then "
        + Types.DISTINCT
        + " when "
        + type
        + ".typtype = 'c' then "
        + Types.STRUCT
        + " when "
        + type
        + ".typtype = 'e' then "
        + Types.VARCHAR
        + " when "
        + type
        + ".typelem <> 0 and "
        + type
        + ".typlen = -1 then "
        + Types.ARRAY
        + " else "
        + Types.OTHER
        + " end end)::int4";
  }

  /**
   * An expression for how many digits or characters a type has; what has no limit has the greatest
   * int, numeric 0.
   */
  static String size(String type, String modifier) {
    return "(case "
        + type
        + " when 21 then 5 when 23 then 10 when 26 then 10 when 20 then 19 when 700 then 8 when 701"
        + " then 17 when 16 then 1 when 1082 then 13 when 1700 then"
        + " coalesce(information_schema._pg_numeric_precision("
        + type
        + ", "
        + modifier
        + "), 0)"
        + timed(1083, 8, modifier)
        + timed(1266, 14, modifier)
        + timed(1114, 22, modifier)
        + timed(1184, 28, modifier)
        + " else coalesce(information_schema._pg_char_max_length("
        + type
        + ", "
        + modifier
        + "), 2147483647) end)::int4";
  }

  /** The size of a time: its characters without a fraction, the point and the fraction's digits. */
  private static String timed(int type, int whole, String modifier) {
    return " when "
        + type
        + " then case "
        + modifier
        + " when 0 then "
        + whole
        + " when -1 then "
        + (whole + 7)
        + " else "
        + (whole + 1)
        + " + "
        + modifier
        + " end";
  }

  static String scale(String type, String modifier) {
    return "(case "
        + type
        + " when 700 then 8 when 701 then 17 when 1700 then"
        + " coalesce(information_schema._pg_numeric_scale("
        + type
        + ", "
        + modifier
        + "), 0) when 1083 then coalesce(information_schema._pg_datetime_precision("
        + type
        + ", "
        + modifier
        + "), 6) when 1114 then coalesce(information_schema._pg_datetime_precision("
        + type
        + ", "
        + modifier
        + "), 6) when 1184 then coalesce(information_schema._pg_datetime_precision("
        + type
        + ", "
        + modifier
        + "), 6) else 0 end)::int4";
  }
}
