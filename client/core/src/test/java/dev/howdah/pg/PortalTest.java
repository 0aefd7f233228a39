package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Portals, descriptions, and the options that a driver on top of the client needs. */
class PortalTest {
  private Connection connection;

  @BeforeEach
  void connect() {
    connection = PrivateServer.connect();
  }

  @AfterEach
  void close() {
    connection.close();
  }

  private static List<Integer> numbers(Result rows) {
    return rows.stream().map(row -> row.getInt(0)).toList();
  }

  @Test
  void portalsOfOneTransactionAreReadInTurns() {
    connection.begin(TransactionOptions.DEFAULT);
    Options three = Options.DEFAULT.fetchSize(3);
    Portal first = connection.portal(three, "select * from generate_series($1::int, 5)", 1);
    Portal second = connection.portal(three, "select * from generate_series($1::int, 5)", 3);
    assertEquals(List.of(1, 2, 3), numbers(first.fetch()));
    assertEquals(List.of(3, 4, 5), numbers(second.fetch()));
    assertEquals(1, connection.query("select 1").size());
    assertEquals(List.of(4, 5), numbers(first.fetch()));
    assertFalse(first.hasMore());
    assertEquals("SELECT 2", first.tag());
    assertEquals(List.of(), numbers(first.fetch()));
    assertEquals(List.of(), numbers(second.fetch()));
    connection.commit();
  }

  @Test
  void aClosedPortalIsGoneFromTheServer() {
    connection.begin(TransactionOptions.DEFAULT);
    Portal portal =
        connection.portal(Options.DEFAULT.fetchSize(1), "select * from generate_series(1, 5)");
    String open = "select count(*) from pg_cursors where name like 'howdah_portal%'";
    assertEquals(1, connection.query(open).get(0).getLong(0));
    portal.close();
    assertEquals(0, connection.query(open).get(0).getLong(0));
    assertEquals(0, portal.fetch().size());
    connection.rollback();
  }

  @Test
  void aPortalNeedsItsTransaction() {
    assertEquals(
        "25P01",
        assertThrows(PgException.class, () -> connection.portal(Options.DEFAULT, "select 1"))
            .sqlState());
    Portal portal =
        connection.portal(
            Options.DEFAULT.fetchSize(1).opening("BEGIN"), "select * from generate_series(1, 5)");
    assertTrue(connection.inTransaction());
    portal.fetch();
    connection.commit();
    connection.begin(TransactionOptions.DEFAULT);
    assertEquals("24000", assertThrows(PgException.class, portal::fetch).sqlState());
    assertFalse(connection.transactionFailed());
    connection.rollback();
  }

  @Test
  void anOpeningStatementRunsOnceAndFirst() {
    Options opening = Options.DEFAULT.opening("BEGIN ISOLATION LEVEL SERIALIZABLE");
    connection.query("show transaction_isolation");
    connection.query("show transaction_isolation");
    long before = connection.writes();
    assertEquals(
        "serializable",
        connection.query(opening, "show transaction_isolation").get(0).getString(0));
    assertEquals(1, connection.writes() - before);
    assertEquals(
        "serializable",
        connection.query(opening, "show transaction_isolation").get(0).getString(0));
    connection.rollback();
    try (Cursor cursor = connection.cursor(opening, "show transaction_isolation")) {
      assertEquals("serializable", cursor.next().getString(0));
    }
    assertTrue(connection.inTransaction());
    connection.rollback();
    Options nonsense = Options.DEFAULT.opening("BEGIN nonsense");
    for (Executable run :
        List.<Executable>of(
            () -> connection.query(nonsense, "show transaction_isolation"),
            () -> connection.cursor(nonsense, "show transaction_isolation"))) {
      assertEquals("42601", assertThrows(ServerException.class, run).sqlState());
    }
    assertFalse(connection.inTransaction());
    assertEquals(
        "read committed", connection.query("show transaction_isolation").get(0).getString(0));
  }

  @Test
  void mostRowsLeavesTheRestInTheServer() {
    assertEquals(
        List.of(1, 2),
        numbers(
            connection.query(Options.DEFAULT.mostRows(2), "select * from generate_series(1, 5)")));
    assertEquals(List.of(1), numbers(connection.query(Options.DEFAULT.mostRows(2), "select 1")));
  }

  @Test
  void aStatementIsDescribedWithoutRunning() {
    Description description = connection.describe("select $1::int4 as a, $2::text[] as b, 1/0");
    assertEquals(
        List.of("int4", "_text"),
        description.parameters().stream().map(parameter -> parameter.codec().name()).toList());
    assertEquals(
        List.of("a", "b", "?column?"),
        description.shape().columns().stream().map(Column::name).toList());
    assertThrows(ServerException.class, () -> connection.describe("select nothing"));
    assertFalse(connection.inTransaction());
  }

  @Test
  void aLimitThatClosesDoesNotWaitForACancel() {
    Options options = Options.DEFAULT.closeAfter(Duration.ofMillis(100));
    assertThrows(ConnectionException.class, () -> connection.query(options, "select pg_sleep(10)"));
    assertFalse(connection.isOpen());
  }
}
