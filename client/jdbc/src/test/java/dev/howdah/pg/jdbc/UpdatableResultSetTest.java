package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.PrivateServer;
import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.JDBCType;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Rows that are changed through a result set, beside pgjdbc. */
class UpdatableResultSetTest {
  private Connection ours;
  private Connection theirs;

  @BeforeEach
  void connect() throws SQLException {
    ours = Howdah.connect();
    theirs = DriverManager.getConnection(PrivateServer.shared().jdbcUrl());
    for (Connection each : List.of(ours, theirs)) {
      setUp(each);
    }
  }

  /** The tables are the connection's own, but for one in a schema whose name wants quotes. */
  private static void setUp(Connection each) throws SQLException {
    Howdah.execute(
        each,
        "create temp table person (id int primary key, name text not null, born date, size"
            + " numeric(5,2) default 1.5)",
        "insert into person values (1, 'Ada', '1815-12-10', 1), (2, 'Bob', null, 2), (3, 'Cy',"
            + " '2000-01-01', null)",
        "create temp table pair (a int, b text, \"Some Value\" text, primary key (b, a))",
        "insert into pair values (1, 'x', 'one'), (2, 'x', 'two')",
        "create temp table coded (code text not null unique, label text)",
        "insert into coded values ('a', 'A'), ('b', 'B')",
        "create temp table keyless (a int, b text)",
        "insert into keyless values (1, 'x')",
        "create schema if not exists \"Odd \"\" one\"",
        "drop table if exists \"Odd \"\" one\".\"The ? Table\"",
        "create table \"Odd \"\" one\".\"The ? Table\" (\"Id {d}\" int primary key, \"a \"\" b\""
            + " text)",
        "insert into \"Odd \"\" one\".\"The ? Table\" values (1, 'one'), (2, 'two')");
  }

  @AfterEach
  void close() throws SQLException {
    ours.close();
    theirs.close();
  }

  private static ResultSet open(Connection connection, String sql) throws SQLException {
    return connection
        .createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)
        .executeQuery(sql);
  }

  /** Something that is done to a result set. */
  private interface Use {
    void of(ResultSet rows) throws SQLException;
  }

  private static String shown(ResultSet rows) throws SQLException {
    StringBuilder text = new StringBuilder();
    rows.beforeFirst();
    while (rows.next()) {
      for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
        text.append(rows.getString(i)).append('|');
      }
      text.append('\n');
    }
    return text.toString();
  }

  /** What the rows show and what the table holds after something was done, and how that ended. */
  private static String outcome(Connection connection, String sql, Use use) throws SQLException {
    String state = "done";
    String inside;
    try (ResultSet rows = open(connection, sql)) {
      try {
        use.of(rows);
      } catch (SQLException e) {
        state = e.getSQLState();
      }
      inside = state + " at " + rows.getRow() + "\n" + shown(rows);
    }
    try (Statement statement =
            connection.createStatement(
                ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
        ResultSet rows = statement.executeQuery(sql)) {
      return inside + "stored:\n" + shown(rows);
    }
  }

  private static final String PERSONS = "select id, name, born, size from person order by id";
  private static final String ODD = "select * from \"Odd \"\" one\".\"The ? Table\" order by 1";

  private static final Map<String, Map.Entry<String, Use>> USES = new LinkedHashMap<>();

  private static void use(String name, String sql, Use use) {
    USES.put(name, Map.entry(sql, use));
  }

  private static void changeSecond(ResultSet rows) throws SQLException {
    rows.absolute(2);
    rows.updateString("name", "Bea");
    rows.updateDate(3, Date.valueOf("1999-12-31"));
  }

  static {
    use(
        "updateRow",
        PERSONS,
        rows -> {
          changeSecond(rows);
          rows.updateRow();
          // Until then pgjdbc shows the text that it sent.
          rows.refreshRow();
        });
    use(
        "two rows",
        PERSONS,
        rows -> {
          while (rows.next()) {
            rows.updateBigDecimal("size", BigDecimal.valueOf(100L * rows.getRow(), 2));
            rows.updateRow();
          }
        });
    use(
        "an update of the key",
        PERSONS,
        rows -> {
          rows.last();
          rows.updateInt(1, 30);
          rows.updateRow();
          rows.updateString(2, "moved");
          rows.updateRow();
        });
    use(
        "an update with nothing to do",
        PERSONS,
        rows -> {
          rows.next();
          rows.updateRow();
        });
    use(
        "an update that is cancelled",
        PERSONS,
        rows -> {
          changeSecond(rows);
          rows.cancelRowUpdates();
          rows.updateRow();
        });
    use("an update before the first row", PERSONS, rows -> rows.updateString(2, "x"));
    use(
        "an update behind the last row",
        PERSONS,
        rows -> {
          rows.afterLast();
          rows.updateString(2, "x");
        });
    use(
        "an update against a constraint",
        PERSONS,
        rows -> {
          rows.next();
          rows.updateNull("name");
          rows.updateRow();
        });
    use(
        "an update of no column",
        PERSONS,
        rows -> {
          rows.next();
          rows.updateString("nowhere", "x");
        });
    use(
        "deleteRow",
        PERSONS,
        rows -> {
          rows.absolute(2);
          rows.deleteRow();
        });
    use(
        "deleteRow of each",
        PERSONS,
        rows -> {
          while (rows.next()) {
            rows.deleteRow();
          }
        });
    use("deleteRow before the first", PERSONS, ResultSet::deleteRow);
    use(
        "insertRow",
        PERSONS,
        rows -> {
          rows.moveToInsertRow();
          rows.updateInt("id", 4);
          rows.updateString("name", "Di");
          rows.updateNull(3);
          rows.updateDouble(4, 1.25);
          rows.insertRow();
          rows.moveToCurrentRow();
        });
    use(
        "insertRow of two",
        PERSONS,
        rows -> {
          rows.next();
          rows.moveToInsertRow();
          for (int id = 4; id < 6; id++) {
            rows.updateInt("id", id);
            rows.updateString("name", "n" + id);
            rows.updateNull("born");
            rows.updateNull("size");
            rows.insertRow();
          }
          rows.moveToCurrentRow();
          rows.updateString("name", "first");
          rows.updateRow();
        });
    use(
        "insertRow of a row that is there",
        PERSONS,
        rows -> {
          rows.moveToInsertRow();
          rows.updateInt("id", 1);
          rows.updateString("name", "x");
          rows.insertRow();
        });
    use(
        "insertRow elsewhere",
        PERSONS,
        rows -> {
          rows.next();
          rows.insertRow();
        });
    use(
        "updateRow on the row to be inserted",
        PERSONS,
        rows -> {
          rows.next();
          rows.moveToInsertRow();
          rows.updateInt(1, 4);
          rows.updateRow();
        });
    use(
        "deleteRow on the row to be inserted",
        PERSONS,
        rows -> {
          rows.next();
          rows.moveToInsertRow();
          rows.deleteRow();
        });
    use(
        "refreshRow on the row to be inserted",
        PERSONS,
        rows -> {
          rows.next();
          rows.moveToInsertRow();
          rows.refreshRow();
        });
    use(
        "cancelRowUpdates on the row to be inserted",
        PERSONS,
        rows -> {
          rows.next();
          rows.moveToInsertRow();
          rows.cancelRowUpdates();
        });
    use(
        "next from the row to be inserted",
        PERSONS,
        rows -> {
          rows.next();
          rows.moveToInsertRow();
          rows.next();
        });
    use(
        "a jump from the row to be inserted",
        PERSONS,
        rows -> {
          rows.next();
          rows.moveToInsertRow();
          rows.absolute(2);
          rows.updateString(2, "jumped");
          rows.updateRow();
        });
    use(
        "refreshRow",
        PERSONS,
        rows -> {
          rows.absolute(2);
          Howdah.execute(
              rows.getStatement().getConnection(), "update person set name = 'other' where id = 2");
          rows.refreshRow();
        });
    use(
        "a key of two columns",
        "select \"Some Value\", b, a from pair order by a",
        rows -> {
          rows.absolute(2);
          rows.updateString("Some Value", "zwei");
          rows.updateRow();
          rows.updateString("b", "y");
          rows.updateRow();
          rows.first();
          rows.deleteRow();
        });
    use(
        "a unique index",
        "select * from coded order by code",
        rows -> {
          rows.next();
          rows.updateString("label", "changed");
          rows.updateRow();
        });
    use(
        "half a key",
        "select a from pair",
        rows -> {
          rows.next();
          rows.updateInt(1, 9);
        });
    use(
        "no key",
        "select * from keyless",
        rows -> {
          rows.next();
          rows.updateInt(1, 9);
        });
    use(
        "no table",
        "select 1 as id",
        rows -> {
          rows.next();
          rows.updateInt(1, 9);
        });
  }

  @TestFactory
  List<DynamicTest> bothDriversDoTheSame() {
    List<DynamicTest> tests = new ArrayList<>();
    USES.forEach(
        (name, use) ->
            tests.add(
                DynamicTest.dynamicTest(
                    name,
                    () -> {
                      for (Connection each : List.of(ours, theirs)) {
                        each.close();
                      }
                      Map<String, String> seen = new LinkedHashMap<>();
                      for (String url : List.of(PrivateServer.shared().jdbcUrl(), Howdah.url())) {
                        try (Connection connection = DriverManager.getConnection(url)) {
                          setUp(connection);
                          seen.put(
                              url.equals(Howdah.url()) ? "ours" : "pgjdbc",
                              outcome(connection, use.getKey(), use.getValue()));
                        }
                      }
                      assertEquals(seen.get("pgjdbc"), seen.get("ours"));
                    })));
    return tests;
  }

  /** pgjdbc looks for the table in the statement's text and does not find this one. */
  @Test
  void namesMayWantQuotes() throws SQLException {
    assertEquals(
        "done at 0\n2|zwei|\n3|drei|\nstored:\n2|zwei|\n3|drei|\n",
        outcome(
            ours,
            ODD,
            rows -> {
              rows.absolute(2);
              rows.updateString("a \" b", "zwei");
              rows.updateRow();
              rows.moveToInsertRow();
              rows.updateInt(1, 3);
              rows.updateString(2, "drei");
              rows.insertRow();
              rows.first();
              rows.deleteRow();
            }));
  }

  /** pgjdbc writes it into the row it moves to. */
  @Test
  void anUpdateThatIsLeftIsForgotten() throws SQLException {
    try (ResultSet rows = open(ours, PERSONS)) {
      changeSecond(rows);
      rows.next();
      rows.updateRow();
      assertEquals(
          "1|Ada|1815-12-10|1.00|\n2|Bob|null|2.00|\n3|Cy|2000-01-01|null|\n", shown(rows));
    }
    assertEquals(1L, Howdah.value(ours, "select count(*) from person where name = 'Cy'"));
  }

  @Test
  void rowsOfSeveralTablesAreNotUpdated() throws SQLException {
    for (String sql :
        List.of(
            "select p.id, q.a from person p, pair q",
            "select id from person union all select a from pair",
            "select count(*) from person")) {
      try (ResultSet rows = open(ours, sql)) {
        rows.next();
        assertEquals("24000", Howdah.state(() -> rows.updateInt(1, 9)), sql);
        assertEquals("24000", Howdah.state(rows::deleteRow), sql);
      }
    }
  }

  @Test
  void everyUpdaterReachesItsColumn() throws SQLException {
    Howdah.execute(
        ours,
        "create temp table wide (id int primary key, a bool, b int2, c int4, d int8, e float4, f"
            + " float8, g numeric, h text, i bytea, j date, k time, l timestamp, m text, n text, o"
            + " bytea, p uuid, q int4[], r jsonb, s bytea, t text, u text)",
        "insert into wide values (1)");
    UUID uuid = UUID.fromString("00112233-4455-6677-8899-aabbccddeeff");
    try (ResultSet rows = open(ours, "select * from wide")) {
      assertTrue(rows.next());
      rows.updateBoolean("a", true);
      rows.updateByte("b", (byte) 2);
      rows.updateShort("b", (short) 3);
      rows.updateInt("c", 4);
      rows.updateLong("d", 5);
      rows.updateFloat("e", 1.5f);
      rows.updateDouble("f", 2.5);
      rows.updateObject("g", new BigDecimal("3.14159"), 2);
      rows.updateNString("h", "text");
      rows.updateBytes("i", new byte[] {1, 2});
      rows.updateDate("j", Date.valueOf("2024-02-29"));
      rows.updateTime("k", Time.valueOf("12:34:56"));
      rows.updateTimestamp("l", Timestamp.valueOf("2024-02-29 12:34:56"));
      rows.updateAsciiStream(
          "m", new ByteArrayInputStream("ascii".getBytes(StandardCharsets.US_ASCII)), 5);
      rows.updateCharacterStream("n", new StringReader("characters"), 4L);
      rows.updateBinaryStream("o", new ByteArrayInputStream(new byte[] {3, 4, 5}), 2);
      rows.updateObject("p", uuid);
      rows.updateArray("q", ours.createArrayOf("int4", new Object[] {1, 2}));
      rows.updateObject("r", "{\"a\": 1}", JDBCType.OTHER);
      rows.updateBlob("s", new ByteArrayInputStream(new byte[] {6}));
      rows.updateClob("t", new StringReader("clob"));
      rows.updateObject("u", 7, JDBCType.VARCHAR);
      rows.updateRow();
      rows.refreshRow();
      assertEquals(
          "1|true|3|4|5|1.5|2.5|3.14|text|\\x0102|2024-02-29|12:34:56|2024-02-29"
              + " 12:34:56|ascii|char|\\x0304|"
              + uuid
              + "|{1,2}|{\"a\": 1}|\\x06|clob|7|\n",
          shown(rows));
      assertEquals(Types.BIT, rows.getMetaData().getColumnType(2));
      assertArrayEquals(new byte[] {1, 2}, row(rows).getBytes("i"));
    }
  }

  private static ResultSet row(ResultSet rows) throws SQLException {
    assertTrue(rows.first());
    return rows;
  }

  @Test
  void aChangedRowIsShownAsTheServerHasIt() throws SQLException {
    Howdah.execute(
        ours,
        "create temp table made (id int primary key generated always as identity, a int, twice int"
            + " generated always as (a * 2) stored, noted text default 'by default')",
        "create function pg_temp.mark() returns trigger language plpgsql as $$begin new.noted :="
            + " new.noted || '!'; return new; end$$",
        "create trigger mark before update on made for each row execute function pg_temp.mark()");
    try (ResultSet rows = open(ours, "select id, a, twice, noted, a + 1 as more from made")) {
      rows.moveToInsertRow();
      rows.updateInt("a", 5);
      rows.insertRow();
      rows.insertRow();
      assertTrue(rows.first());
      assertEquals(10, rows.getInt("twice"));
      assertEquals("by default", rows.getString("noted"));
      rows.updateInt("a", 7);
      rows.updateRow();
      assertEquals(14, rows.getInt("twice"));
      assertEquals("by default!", rows.getString("noted"));
      assertNull(rows.getString("more"), "what the table does not know stays as it was");
      assertEquals("42703", Howdah.state(() -> rows.updateInt("more", 1)));
      assertTrue(rows.last());
      assertEquals(2, rows.getInt("id"));
      assertEquals(2, rows.getRow());
    }
  }

  @Test
  void aRowThatIsGoneIsNotUpdated() throws SQLException {
    try (ResultSet rows = open(ours, PERSONS)) {
      rows.next();
      Howdah.execute(ours, "delete from person where id = 1");
      rows.updateString("name", "x");
      assertEquals("02000", Howdah.state(rows::updateRow));
      assertEquals("02000", Howdah.state(rows::refreshRow));
      rows.deleteRow();
      assertTrue(rows.next());
      assertEquals(2, rows.getInt("id"));
    }
  }

  @Test
  void changesBelongToTheTransaction() throws SQLException {
    ours.setAutoCommit(false);
    try (PreparedStatement statement =
        ours.prepareStatement(
            "select * from person where id > ? order by id",
            ResultSet.TYPE_FORWARD_ONLY,
            ResultSet.CONCUR_UPDATABLE)) {
      statement.setFetchSize(1);
      statement.setInt(1, 1);
      assertEquals(ResultSet.CONCUR_UPDATABLE, statement.getResultSetConcurrency());
      ResultSet rows = statement.executeQuery();
      assertEquals(ResultSet.CONCUR_UPDATABLE, rows.getConcurrency());
      while (rows.next()) {
        rows.updateString("name", "changed");
        rows.updateRow();
        assertFalse(rows.rowUpdated());
      }
    }
    assertEquals(2L, Howdah.value(ours, "select count(*) from person where name = 'changed'"));
    ours.rollback();
  }

  @Test
  void aReadOnlyOneSaysWhatToAskFor() throws SQLException {
    try (Statement statement = ours.createStatement();
        ResultSet rows = statement.executeQuery(PERSONS)) {
      rows.next();
      assertEquals(ResultSet.CONCUR_READ_ONLY, rows.getConcurrency());
      assertEquals("24000", Howdah.state(() -> rows.updateInt(1, 1)));
      assertEquals("24000", Howdah.state(rows::moveToInsertRow));
      assertEquals("24000", Howdah.state(rows::deleteRow));
    }
  }

  @Test
  void theMetadataSaysWhatPgjdbcsDoes() throws SQLException {
    for (int type : new int[] {ResultSet.TYPE_FORWARD_ONLY, ResultSet.TYPE_SCROLL_INSENSITIVE}) {
      for (int concurrency : new int[] {ResultSet.CONCUR_READ_ONLY, ResultSet.CONCUR_UPDATABLE}) {
        assertEquals(
            theirs.getMetaData().supportsResultSetConcurrency(type, concurrency),
            ours.getMetaData().supportsResultSetConcurrency(type, concurrency));
      }
      assertEquals(
          theirs.getMetaData().ownUpdatesAreVisible(type),
          ours.getMetaData().ownUpdatesAreVisible(type));
      assertEquals(
          theirs.getMetaData().ownDeletesAreVisible(type),
          ours.getMetaData().ownDeletesAreVisible(type));
      assertEquals(
          theirs.getMetaData().ownInsertsAreVisible(type),
          ours.getMetaData().ownInsertsAreVisible(type));
      assertEquals(
          theirs.getMetaData().updatesAreDetected(type),
          ours.getMetaData().updatesAreDetected(type));
    }
  }
}
