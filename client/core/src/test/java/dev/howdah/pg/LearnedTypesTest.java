package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.howdah.pg.types.Composite;
import dev.howdah.pg.types.PgArray;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a connection learns of the database's own types, in whatever order it meets them. */
class LearnedTypesTest {
  private Connection connection;

  @BeforeEach
  void connect() {
    connection = PrivateServer.connect();
    connection.script(
        "drop schema if exists learned cascade; create schema learned; set search_path to learned");
  }

  @AfterEach
  void close() {
    connection.close();
  }

  @Test
  void anArrayIsReadByItsOwnDelimiterAlsoWhenItsElementIsKnown() {
    connection.script("create domain crate as box");
    connection.query("select $1::crate is null", "(1,1),(0,0)");
    Row row =
        connection
            .query(Options.DEFAULT.binary(false), "select '{(1,1),(0,0);(3,3),(2,2)}'::crate[]")
            .get(0);
    assertEquals(2, ((List<?>) row.getObject(0)).size());
  }

  @Test
  void aLookupThatEndedEarlyDoesNotStandInTheWayOfTheNext() {
    // What a lookup leaves that is cancelled while its query runs.
    connection.script("create type mood as enum ('glad'); prepare howdah_catalog as select 1");
    assertEquals("glad", connection.query("select 'glad'::mood").get(0).getString(0));
    assertEquals(
        0,
        connection
            .query("select 1 from pg_prepared_statements where name = 'howdah_catalog'")
            .size());
  }

  @Test
  void aScriptReadsTypesAlikeWhateverTheConnectionHasMet() {
    connection.script(
        "create type part as (a int, b text); create type mood as enum ('glad'); create domain two"
            + " as part[]");
    String sql =
        "select row(1, 'x')::learned.part, array['glad']::learned.mood[], array[row(2,"
            + " 'y')]::learned.two, 7; drop type if exists learned.late; create type learned.late"
            + " as (c date); select row('2024-05-01')::learned.late";
    List<List<Object>> fresh;
    try (Connection other = PrivateServer.connect()) {
      fresh = read(other.script(sql));
      assertEquals(fresh, read(other.script(sql)));
      other.begin(TransactionOptions.DEFAULT);
      other.script("create type learned.later as enum ('now')");
      assertEquals(
          List.of(List.of(List.of("now"))), read(other.script("select '{now}'::learned.later[]")));
      other.rollback();
    }
    assertEquals(
        List.of(List.of(1, "x"), List.of("glad"), List.of(List.of(2, "y")), 7), fresh.get(0));
    assertEquals(List.of(List.of(LocalDate.of(2024, 5, 1))), fresh.get(3));
    assertEquals(
        fresh.get(0),
        Arrays.asList(connection.query(sql.substring(0, sql.indexOf(';'))).get(0).toArray()));
  }

  private static List<List<Object>> read(List<Result> results) {
    return results.stream()
        .map(result -> result.isEmpty() ? List.of() : Arrays.asList(result.get(0).toArray()))
        .toList();
  }

  private List<String> fields(String sql) {
    Object value = connection.query(sql).get(0).getObject(0);
    return ((Composite) (value instanceof PgArray array ? array.get(0) : value)).names();
  }

  @Test
  void aRowTypeIsLearnedAgainWhenItsTableHasChanged() {
    String one = "select u from users u";
    String several = "select array_agg(u) from users u";
    connection.script("create table users (a int, b text); insert into users values (1, 'x')");
    Row before = connection.query(one).get(0);
    assertEquals(List.of("a", "b"), fields(one));
    assertEquals(List.of("a", "b"), fields(several));
    connection.script("alter table users drop column b; alter table users add column c text");
    assertEquals(List.of("a", "c"), fields(one));
    assertEquals(List.of("a", "c"), fields(several));
    assertEquals(List.of("a", "b"), ((Composite) before.getObject(0)).names());
    String wide = "select u, u.* from users u";
    assertEquals(List.of("a", "c"), fields(wide));
    try (Connection other = PrivateServer.connect()) {
      other.script(
          "alter table learned.users drop column a; alter table learned.users add column d text");
    }
    assertEquals(List.of("c", "d"), fields(wide));
  }
}
