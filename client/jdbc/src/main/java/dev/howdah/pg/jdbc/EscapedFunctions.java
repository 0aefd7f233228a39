package dev.howdah.pg.jdbc;

import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The functions that JDBC names otherwise than PostgreSQL. Each argument is written once, because
 * it may be a placeholder.
 */
final class EscapedFunctions {
  /**
   * A call with its arguments as %1$s and so on. The number behind the name is how many there are.
   */
  private static final Map<String, String> CALLS =
      Map.ofEntries(
          Map.entry("ceiling/1", "ceil(%1$s)"),
          Map.entry("log/1", "ln(%1$s)"),
          Map.entry("log10/1", "log(%1$s)"),
          Map.entry("power/2", "pow(%1$s, %2$s)"),
          Map.entry("truncate/2", "trunc(%1$s, %2$s)"),
          Map.entry("char/1", "chr(%1$s)"),
          Map.entry("insert/4", "overlay(%1$s placing %4$s from %2$s for %3$s)"),
          Map.entry("lcase/1", "lower(%1$s)"),
          Map.entry("ucase/1", "upper(%1$s)"),
          Map.entry("left/2", "substring(%1$s for %2$s)"),
          Map.entry("right/2", "right(%1$s, %2$s)"),
          Map.entry("length/1", "length(trim(trailing from %1$s))"),
          Map.entry("locate/2", "position(%1$s in %2$s)"),
          Map.entry(
              "locate/3",
              "(select case found when 0 then 0 else found + start - 1 end from (select start,"
                  + " position(part in substring(whole from start)) as found from (values"
                  + " (cast(%1$s as text), cast(%2$s as text), cast(%3$s as int))) as given (part,"
                  + " whole, start)) as sought)"),
          Map.entry("ltrim/1", "trim(leading from %1$s)"),
          Map.entry("rtrim/1", "trim(trailing from %1$s)"),
          Map.entry("space/1", "repeat(' ', %1$s)"),
          Map.entry("substring/2", "substr(%1$s, %2$s)"),
          Map.entry("substring/3", "substr(%1$s, %2$s, %3$s)"),
          Map.entry("curdate/0", "current_date"),
          Map.entry("curtime/0", "current_time"),
          Map.entry("dayname/1", "to_char(%1$s, 'Day')"),
          Map.entry("monthname/1", "to_char(%1$s, 'Month')"),
          Map.entry("dayofmonth/1", "extract(day from %1$s)"),
          Map.entry("dayofweek/1", "(extract(dow from %1$s) + 1)"),
          Map.entry("dayofyear/1", "extract(doy from %1$s)"),
          Map.entry("hour/1", "extract(hour from %1$s)"),
          Map.entry("minute/1", "extract(minute from %1$s)"),
          Map.entry("month/1", "extract(month from %1$s)"),
          Map.entry("quarter/1", "extract(quarter from %1$s)"),
          Map.entry("second/1", "extract(second from %1$s)"),
          Map.entry("week/1", "extract(week from %1$s)"),
          Map.entry("year/1", "extract(year from %1$s)"),
          Map.entry("database/0", "current_database()"),
          Map.entry("user/0", "\"current_user\"()"),
          Map.entry("ifnull/2", "coalesce(%1$s, %2$s)"));

  /** The units of time that PostgreSQL adds, and how many of the word's make one. */
  private static final Map<String, String> UNITS =
      Map.of(
          "day",
          "1 day",
          "hour",
          "1 hour",
          "minute",
          "1 minute",
          "month",
          "1 month",
          "quarter",
          "3 months",
          "second",
          "1 second",
          "week",
          "7 days",
          "year",
          "1 year");

  /** How many seconds the units have that always have the same. */
  private static final Map<String, Integer> SECONDS =
      Map.of("second", 1, "minute", 60, "hour", 3600, "day", 86_400, "week", 604_800);

  private EscapedFunctions() {}

  /**
   * The call of a function of JDBC as SQL; one that JDBC and PostgreSQL name alike stays what it
   * is.
   */
  static String call(String name, List<String> arguments) throws SQLException {
    String lower = name.toLowerCase(Locale.ROOT);
    String call = CALLS.get(lower + "/" + arguments.size());
    if (call != null) {
      return String.format(Locale.ROOT, call, arguments.toArray());
    }
    if (CALLS.keySet().stream().anyMatch(known -> known.startsWith(lower + "/"))) {
      throw SqlErrors.error(
          "42601",
          "the function " + name + " of JDBC does not take " + arguments.size() + " arguments");
    }
    return switch (lower) {
      case "concat" -> concatenated(arguments);
      case "timestampadd" -> added(arguments);
      case "timestampdiff" -> difference(arguments);
      default -> name + "(" + String.join(", ", arguments) + ")";
    };
  }

  /** The server cannot tell what two placeholders are that nothing stands between. */
  private static String concatenated(List<String> arguments) {
    return "("
        + String.join(
            " || ",
            arguments.stream()
                .map(argument -> argument.strip().equals("?") ? "cast(? as text)" : argument)
                .toList())
        + ")";
  }

  private static String unit(List<String> arguments, String function) throws SQLException {
    String unit = arguments.size() == 3 ? arguments.get(0).strip().toLowerCase(Locale.ROOT) : "";
    if (!unit.startsWith("sql_tsi_")) {
      throw SqlErrors.error(
          "42601",
          "the function "
              + function
              + " of JDBC takes a unit such as SQL_TSI_DAY, and two more arguments");
    }
    return unit.substring("sql_tsi_".length());
  }

  private static String added(List<String> arguments) throws SQLException {
    String interval = UNITS.get(unit(arguments, "timestampadd"));
    if (interval == null) {
      throw SqlErrors.unsupported("timestampadd of " + arguments.get(0), "add an interval");
    }
    return "(cast("
        + arguments.get(1)
        + " as int) * interval '"
        + interval
        + "' + "
        + arguments.get(2)
        + ")";
  }

  private static String difference(List<String> arguments) throws SQLException {
    Integer seconds = SECONDS.get(unit(arguments, "timestampdiff"));
    if (seconds == null) {
      throw SqlErrors.unsupported(
          "timestampdiff of " + arguments.get(0), "ask age() for months and years");
    }
    return "trunc(extract(epoch from "
        + arguments.get(2)
        + " - "
        + arguments.get(1)
        + ") / "
        + seconds
        + ")";
  }
}
