package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which statements a connection keeps prepared, and what becomes of them. */
class StatementCacheTest {
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
  void theStatementCacheIsBounded() {
    try (Connection small =
        Connection.open(PrivateServer.shared().config().set("statementCacheSize", 10).build())) {
      for (int i = 0; i < 300; i++) {
        assertEquals(i, small.query("select " + i).get(0).getInt(0));
        assertEquals(i, small.query("select " + i).get(0).getInt(0));
      }
      assertEquals(10, small.preparedStatements());
      small.query("select 1 as last");
      assertTrue(
          small.query("select count(*) from pg_prepared_statements").get(0).getLong(0) <= 11);
    }
  }

  @Test
  void theStatementCacheIsBoundedByTheBytesOfItsText() {
    try (Connection small =
        Connection.open(
            PrivateServer.shared().config().set("statement_cache_bytes", 16_000).build())) {
      for (int i = 0; i < 100; i++) {
        String text = "select " + i + " /* " + "é".repeat(400) + " */";
        assertEquals(i, small.query(text).get(0).getInt(0));
        assertEquals(i, small.query(text).get(0).getInt(0));
      }
      assertEquals(19, small.preparedStatements());
      small.query("select 1 as last");
      assertEquals(19, keptByTheServer(small));
    }
  }

  @Test
  void aLongStatementIsNotKept() {
    String text = "select $1::int /* " + "x".repeat(140_000) + " */";
    for (int i = 0; i < 5; i++) {
      assertEquals(i, connection.query(text, i).get(0).getInt(0));
    }
    assertEquals(0, connection.preparedStatements());
    assertEquals(0, keptByTheServer(connection));
  }

  @Test
  void aStatementIsKeptFromItsSecondUseOn() {
    connection.query("select 1 as kept");
    assertEquals(0, connection.preparedStatements());
    connection.query("select 1 as kept");
    assertEquals(1, connection.preparedStatements());
    assertEquals(1, keptByTheServer(connection));
  }

  private static long keptByTheServer(Connection connection) {
    return connection
        .script("select count(*)::int from pg_prepared_statements")
        .get(0)
        .get(0)
        .getInt(0);
  }

  @Test
  void withoutACacheStatementsStillRun() {
    try (Connection none =
        Connection.open(PrivateServer.shared().config().set("statementCacheSize", 0).build())) {
      none.script("create type pg_temp.mood as enum ('glad')");
      for (int i = 0; i < 3; i++) {
        assertEquals(
            "glad", none.query("select 'glad'::pg_temp.mood where $1", true).get(0).getString(0));
      }
      assertEquals(0, none.preparedStatements());
    }
  }

  @Test
  void aStatementThatWasGivenUpByItsNameIsPreparedAgain() {
    String sql = "select 41 + $1::int";
    connection.query(sql, 1);
    for (String all : List.of("deallocate ", "discard all", "deallocate all")) {
      assertEquals(42, connection.query(sql, 1).get(0).getInt(0));
      String name =
          connection
              .query("select name from pg_prepared_statements where statement = $1", sql)
              .get(0)
              .getString(0);
      connection.script(all.endsWith("all") ? all : all + Connection.quoted(name));
      assertEquals(42, connection.query(sql, 1).get(0).getInt(0));
      assertEquals(
          1,
          connection.query("select 1 from pg_prepared_statements where statement = $1", sql).size(),
          all);
    }
    int answer =
        connection.transaction(
            inside -> {
              inside.script("deallocate all");
              return inside.query(sql, 1).get(0).getInt(0);
            });
    assertEquals(42, answer);
  }

  @Test
  void aStatementThatAsksForALostOneItselfRunsOnce() {
    connection.script(
        "create temp sequence asked; create function pg_temp.ask() returns void language plpgsql as"
            + " $$ begin perform nextval('asked'); raise exception 'lost' using errcode = '26000';"
            + " end $$");
    for (int i = 1; i <= 4; i++) {
      assertEquals(
          "26000",
          assertThrows(ServerException.class, () -> connection.query("select pg_temp.ask()"))
              .sqlState());
      assertEquals(i, connection.query("select last_value from asked").get(0).getLong(0));
    }
    assertTrue(connection.preparedStatements() > 0);
  }
}
