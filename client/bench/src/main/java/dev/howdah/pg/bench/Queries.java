package dev.howdah.pg.bench;

import java.util.LinkedHashMap;
import java.util.Map;

/** The queries of the published tests. */
final class Queries {
  /** How many rows a query returns: as published, unless ROWS says otherwise for a quick look. */
  static final int ROWS = Integer.parseInt(System.getenv().getOrDefault("ROWS", "50000"));

  private Queries() {}

  /** By case; t4 is t3 with a pool's borrow and return inside. */
  static Map<String, String> byCase() {
    Map<String, String> queries = new LinkedHashMap<>();
    String series = " from generate_series(1," + ROWS + ") as s(x)";
    queries.put("t1", "select x" + series);
    queries.put(
        "t2",
        "select x::int4 as int4, x::int8 as int8, x::numeric as numeric, x::text || 'foobar' as"
            + " line, x > 100500 as bool, now() as ts, now()::date as date, now()::time as time,"
            + " null as nil"
            + series);
    queries.put("t3", "select row_to_json(row(1, random(), 2, random()))" + series);
    queries.put("t4", queries.get("t3"));
    StringBuilder sixty = new StringBuilder("select ");
    for (int i = 0; i < 60; i++) {
      sixty.append(i > 0 ? ", " : "").append("now() as c").append(i);
    }
    queries.put("t5", sixty + series);
    queries.put("t5_varied", varied() + series);
    return queries;
  }

  /**
   * Sixty timestamps, each some half a day from every other, up to the year 5800: what was decoded
   * once is of no use again.
   */
  private static String varied() {
    StringBuilder sixty = new StringBuilder("select ");
    for (int i = 0; i < 60; i++) {
      sixty
          .append(i > 0 ? ", " : "")
          .append("to_timestamp((x * 60 + ")
          .append(i)
          .append(") * 40000.123457::float8) as c")
          .append(i);
    }
    return sixty.toString();
  }

  /** The query of t6. */
  static String t6() {
    return "select row_to_json(row(1, random(), 2, random())) from generate_series(1,500)";
  }
}
