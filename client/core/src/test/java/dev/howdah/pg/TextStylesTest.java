package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.types.Interval;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Settings that change how the server writes text, set by the role, the database or a statement.
 */
class TextStylesTest {
  private static final Options TEXT = Options.DEFAULT.binary(false);

  private Connection connection;

  @BeforeEach
  void connect() {
    connection = PrivateServer.connect();
  }

  @AfterEach
  void close() {
    connection.close();
  }

  @Test
  void intervalsAreReadInEachStyle() {
    List<Object> intervals =
        connection
            .query("select v::interval from unnest($1::text[]) v", new Samples().intervals())
            .stream()
            .map(row -> row.getObject(0))
            .toList();
    for (String style : List.of("postgres", "postgres_verbose", "iso_8601", "sql_standard")) {
      connection.script("set intervalstyle to " + style);
      Result rows = connection.query(TEXT, "select unnest($1::interval[])", intervals);
      assertEquals(intervals.size(), rows.size());
      for (int i = 0; i < rows.size(); i++) {
        assertEquals(
            intervals.get(i), rows.get(i).getObject(0), style + ": " + rows.get(i).getString(0));
      }
    }
  }

  @Test
  void aRolesOwnStylesDoNotMatter() {
    connection.script(
        "drop role if exists styled; create role styled login; alter role styled set intervalstyle"
            + " to 'sql_standard'; alter role styled set datestyle to 'German'");
    try (Connection styled =
        Connection.open(PrivateServer.shared().config().user("styled").build())) {
      Row row =
          styled
              .script(
                  "select '1 year 2 mons'::interval, '2024-05-01'::date, '-1 day"
                      + " -00:00:01'::interval")
              .get(0)
              .get(0);
      assertEquals(
          List.of(
              new Interval(14, 0, 0), LocalDate.of(2024, 5, 1), new Interval(0, -1, -1_000_000)),
          List.of(row.toArray()));
      assertEquals("1-2", row.getString(0));
      assertEquals(
          "1 year 2 mons", styled.query("select '1 year 2 mons'::interval").get(0).getString(0));
    }
  }

  @Test
  void datesOfAnotherStyleAreRefusedAsTextAndReadInBinary() {
    String sql =
        "select '2024-05-06'::date, '2024-05-06 10:00:00+00'::timestamptz, '0012-05-06'::date";
    for (String style : List.of("german", "sql, dmy", "postgres, mdy")) {
      connection.script("set datestyle to " + style);
      Row text = connection.query(TEXT, sql).get(0);
      for (int i = 0; i < 3; i++) {
        int column = i;
        PgException error =
            assertThrows(PgException.class, () -> text.getObject(column), text.getString(column));
        assertTrue(error.getMessage().contains("SET datestyle TO iso"), error.getMessage());
      }
      assertEquals(LocalDate.of(2024, 5, 6), connection.query(sql).get(0).getObject(0));
    }
    connection.script("set datestyle to iso");
    assertEquals(LocalDate.of(12, 5, 6), connection.query(TEXT, sql).get(0).getObject(2));
  }

  @Test
  void timesAreWrittenAtUtcUnlessTheServerWritesThem() {
    connection.script("set timezone to 'Asia/Tokyo'");
    String sql = "select '2024-05-01 12:00:00+00'::timestamptz as at";
    for (Options options : List.of(Options.DEFAULT, TEXT)) {
      Row row = connection.query(options, sql).get(0);
      assertEquals(OffsetDateTime.parse("2024-05-01T12:00Z"), row.getObject(0));
      assertEquals(
          options == TEXT ? "2024-05-01 21:00:00+09" : "2024-05-01 12:00:00+00", row.getString(0));
      assertEquals("{\"at\":\"2024-05-01T12:00:00+00:00\"}", row.toJson());
      ByteArrayOutputStream csv = new ByteArrayOutputStream();
      connection.writeCsv(options, csv, sql);
      assertEquals("at\n" + row.getString(0) + "\n", csv.toString(StandardCharsets.UTF_8));
    }
  }
}
