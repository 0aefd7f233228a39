package dev.howdah.pg;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Values of types that are made of other types, as text: the server makes them of the {@link
 * Samples}.
 */
final class ServerSamples {
  private final Connection connection;
  private final Random random = new Random(20_260_102);

  ServerSamples(Connection connection) {
    this.connection = connection;
  }

  private List<String> texts(String sql, List<String> values) {
    return connection.query(sql, values).stream().map(row -> row.getString(0)).toList();
  }

  /**
   * Arrays of up to seven elements, some of them null, and of two dimensions where they come out
   * even.
   */
  List<String> arrays(String type, List<String> values) {
    String grouped =
        "from (select nullif(v, '0')::"
            + type
            + " as v, n from unnest($1::text[]) with ordinality as u(v, n)) s";
    List<String> arrays =
        new ArrayList<>(
            texts(
                "select array_agg(v order by n)::text "
                    + grouped
                    + " group by n / (1 + n % 7), n % 7",
                values));
    arrays.addAll(
        texts(
            "select array_agg(a)::text from (select array_agg(v order by n) as a, n / 2 as g "
                + grouped
                + " group by n / 2 having count(*) = 2) t group by g / 3",
            values));
    return arrays;
  }

  /** Ranges between neighbours, with every kind of bounds. */
  List<String> ranges(String type, String bound, List<String> values) {
    return texts(
        "select "
            + type
            + "(case when n % 11 > 0 then least(v, w) end, case when n % 13 > 0 then greatest(v, w)"
            + " end, (array['[]', '()', '[)', '(]'])[1 + n % 4])::text from (select v::"
            + bound
            + " as v, lead(v::"
            + bound
            + ") over (order by n) as w, n from unnest($1::text[]) with ordinality as u(v, n)) s",
        values);
  }

  /** Multiranges of up to five such ranges. */
  List<String> multiranges(String type, String range, List<String> ranges) {
    return texts(
        "select "
            + type
            + "(variadic array_agg(v::"
            + range
            + "))::text from unnest($1::text[]) with ordinality as u(v, n)"
            + " group by n / 5",
        ranges);
  }

  /** Rows of the type part, whose text field is odd. */
  List<String> parts(List<String> values) {
    return texts(
        "select row(case when n % 5 > 0 then n end, v, case when n % 3 > 0 then n + 1 end,"
            + " (array['glad', 'sad', 'so so', null])[1 + n % 4])::text from unnest($1::text[])"
            + " with ordinality as u(v, n)",
        values);
  }

  /** Maps of up to four odd keys to odd values or null. */
  List<String> hstores(List<String> values) {
    return texts(
        "select hstore(array_agg(v), array_agg(case when n % 5 > 0 then reverse(v) end))::text"
            + " from unnest($1::text[]) with ordinality as u(v, n) group by n / 4",
        values);
  }

  /** The networks that addresses lie in. */
  List<String> networks(List<String> addresses) {
    return texts("select network(v::inet)::text from unnest($1::text[]) v", addresses);
  }

  private List<String> generated(int count, java.util.function.Supplier<String> generator) {
    List<String> values = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      values.add(generator.get());
    }
    return values;
  }

  List<String> moods() {
    return generated(1000, () -> List.of("glad", "sad", "so so").get(random.nextInt(3)));
  }

  List<String> amounts() {
    return generated(
        1000,
        () ->
            (random.nextLong() >> 10 + random.nextInt(50))
                + "."
                + random.nextInt(10)
                + random.nextInt(10));
  }

  /** Addresses of cards, of six bytes or eight. */
  List<String> cards(int bytes) {
    return generated(
        1000,
        () -> {
          StringBuilder text = new StringBuilder();
          for (int i = 0; i < bytes; i++) {
            text.append(i > 0 ? ":" : "").append(String.format("%02x", random.nextInt(256)));
          }
          return text.toString();
        });
  }

  List<String> bits(int count) {
    return generated(
        1000,
        () ->
            String.format("%" + count + "s", Integer.toBinaryString(random.nextInt(1 << count)))
                .replace(' ', '0'));
  }

  List<String> positions() {
    return generated(
        1000,
        () -> String.format("%X/%X", random.nextInt() >>> random.nextInt(32), random.nextInt()));
  }
}
