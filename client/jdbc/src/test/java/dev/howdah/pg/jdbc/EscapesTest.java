package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.PrivateServer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** JDBC's escapes in braces, beside pgjdbc. */
class EscapesTest {
  private static Connection ours;
  private static Connection theirs;

  private static final List<String> ESCAPES =
      List.of(
          "{d '2024-02-29'}",
          "{D'2024-02-29' }",
          "{t '12:34:56'}",
          "{ts '2024-02-29 12:34:56.5'}",
          "{ts '2024-02-29 12:34:56'} + interval '1 day'",
          "{d '2024-02-29'} + {fn length('ab')}",
          "'a%b' like 'a!%b' {escape '!'}",
          "'a%b' like 'a\\%b' {escape '\\'}",
          "{fn abs(-1)}",
          "{fn ceiling(1.5)}",
          "{FN Log(10)}",
          "{fn log10(100)}",
          "{fn power(2, 3)}",
          "{fn truncate(1.239, 2)}",
          "{fn mod(7, 4)}",
          "{fn pi()}",
          "{fn round(1.5)}",
          "{fn char(65)}",
          "{fn concat('a', 'b')}",
          "{fn concat('a', {fn concat('b', 'c')})}",
          "{fn insert('abcdef', 2, 3, 'X')}",
          "{fn lcase('AbC')}",
          "{fn ucase('AbC')}",
          "{fn left('abc', 2)}",
          "{fn right('abc', 2)}",
          "{fn length('abc  ')}",
          "{fn locate('b', 'abc')}",
          "{fn locate('x', 'abc')}",
          "{fn ltrim('  a ')}",
          "{fn rtrim(' a  ')} || '.'",
          "{fn space(3)} || '.'",
          "{fn substring('abcdef', 3)}",
          "{fn substring('abcdef', 3, 2)}",
          "{fn repeat('ab', 2)}",
          "{fn replace('abc', 'b', '()')}",
          "{fn ascii('A')}",
          "{fn curdate()} - current_date",
          "{fn dayname({d '2024-02-29'})}",
          "{fn monthname({d '2024-02-29'})}",
          "{fn dayofmonth({d '2024-02-29'})}",
          "{fn dayofweek({d '2024-02-29'})}",
          "{fn dayofyear({d '2024-02-29'})}",
          "{fn hour({t '12:34:56'})}",
          "{fn minute({t '12:34:56'})}",
          "{fn second({t '12:34:56'})}",
          "{fn month({d '2024-02-29'})}",
          "{fn quarter({d '2024-02-29'})}",
          "{fn week({d '2024-02-29'})}",
          "{fn year({d '2024-02-29'})}",
          "{fn database()}",
          "{fn ifnull(null, 'x')}",
          "{fn user()}",
          "{fn timestampadd(SQL_TSI_DAY, 3, {ts '2024-02-29 12:00:00'})}",
          "{fn timestampadd(sql_tsi_month, 1, {ts '2024-01-31 12:00:00'})}",
          "{fn timestampadd(SQL_TSI_QUARTER, 1, {ts '2024-01-31 12:00:00'})}",
          "{fn timestampadd(SQL_TSI_SECOND, 90, {ts '2024-01-31 12:00:00'})}",
          "{fn timestampadd(SQL_TSI_WEEK, -1, {ts '2024-01-31 12:00:00'})}",
          "{fn timestampdiff(SQL_TSI_DAY, {ts '2024-01-31 12:00:00'}, {ts '2024-02-29 13:00:00'})}",
          "{fn timestampdiff(SQL_TSI_HOUR, {ts '2024-01-31 12:00:00'}, {ts '2024-01-31"
              + " 15:30:00'})}",
          "{fn pg_catalog.upper('a')}",
          "{fn upper('a,b)')}",
          "{fn replace('a', (select 'a'), 'x')}",
          "{fn ucase(/* } */ 'a' -- }\n)}",
          // Braces that are none.
          "'{d ''2024-02-29''}'",
          "'{1,2}'::int[]",
          "$${fn now()}$$",
          "$a${ts '1'}$a$",
          "1 /* {fn x( */",
          "E'\\'{d \\'x\\'}'",
          "'{\"a\": {\"b\": 1}}'::jsonb",
          "1 -- {d '2024-02-29'}",
          "(select \"{d 'x'}\" from (select 1 as \"{d 'x'}\") as t)");

  @BeforeAll
  static void connect() throws SQLException {
    ours = Howdah.connect();
    theirs = DriverManager.getConnection(PrivateServer.shared().jdbcUrl());
    Howdah.execute(theirs, "set timezone to 'UTC'");
  }

  @AfterAll
  static void close() throws SQLException {
    ours.close();
    theirs.close();
  }

  /** The rows of a query, by a statement and by a prepared one, which must agree. */
  private static String shown(Connection connection, String sql) throws SQLException {
    String plain;
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      plain = text(rows);
    }
    try (PreparedStatement statement = connection.prepareStatement(sql);
        ResultSet rows = statement.executeQuery()) {
      assertEquals(plain, text(rows));
    }
    return plain;
  }

  private static String text(ResultSet rows) throws SQLException {
    StringBuilder text = new StringBuilder();
    while (rows.next()) {
      text.append(rows.getMetaData().getColumnTypeName(1))
          .append(' ')
          .append(rows.getString(1))
          .append('\n');
    }
    return text.toString();
  }

  @TestFactory
  List<DynamicTest> bothDriversWriteTheSame() {
    return ESCAPES.stream()
        .map(
            escape ->
                DynamicTest.dynamicTest(
                    escape,
                    () -> {
                      String sql = "select " + escape + "\n as x";
                      boolean truth = escape.contains("like");
                      String wanted = shown(theirs, sql);
                      assertEquals(truth ? "bool true\n" : wanted, shown(ours, sql));
                    }))
        .toList();
  }

  @Test
  void anOuterJoinIsInBraces() throws SQLException {
    String sql =
        "select a || coalesce(b, '?') from {oj (values ('x'), ('y')) as l(a) left outer join"
            + " (values ('x', 'z')) as r(k, b) on l.a = r.k} order by 1";
    assertEquals(shown(theirs, sql), shown(ours, sql));
  }

  private static String prepared(String sql, Object... parameters) throws SQLException {
    try (PreparedStatement statement = ours.prepareStatement(sql)) {
      for (int i = 0; i < parameters.length; i++) {
        statement.setObject(i + 1, parameters[i]);
      }
      try (ResultSet rows = statement.executeQuery()) {
        assertTrue(rows.next());
        return rows.getString(1);
      }
    }
  }

  @Test
  void argumentsMayBePlaceholders() throws SQLException {
    assertEquals("ABC", prepared("select {fn ucase(?)}", "abc"));
    assertEquals("ab", prepared("select {fn concat(?, ?)}", "a", "b"));
    assertEquals("1b", prepared("select {fn concat(?, ?)}", 1, "b"));
    assertEquals("bc", prepared("select {fn right(?, ?)}", "abc", 2));
    assertEquals("5", prepared("select {fn locate(?, ?, ?)}", "b", "abcab", 3));
    assertEquals("0", prepared("select {fn locate(?, ?, ?)}", "x", "abcab", 3));
    assertEquals(
        "2024-03-03 12:00:00",
        prepared("select {fn timestampadd(SQL_TSI_DAY, ?, {ts '2024-02-29 12:00:00'})}", 3));
    assertEquals("{x} b", prepared("select '{x} ' || {fn lcase(?)}", "B"));
  }

  @Test
  void whatPgjdbcDoesNotReadIsReadToo() throws SQLException {
    assertEquals("2024-02-29", prepared("select { d '2024-02-29' }"));
    assertEquals("y", prepared("select {fn replace('a', 'a', (array['x', 'y'])[2])}"));
    assertEquals("b", prepared("select {fn substring('abc', (array[1, 2])[2], 1)}"));
  }

  /** pgjdbc counts the hours of a difference without those in its days, and refuses weeks. */
  @Test
  void aDifferenceIsCountedInWholeUnits() throws SQLException {
    assertEquals(
        "51",
        prepared(
            "select {fn timestampdiff(SQL_TSI_HOUR, {ts '2024-01-31 12:00:00'}, {ts '2024-02-02"
                + " 15:59:00'})}"));
    assertEquals(
        "-1",
        prepared(
            "select {fn timestampdiff(SQL_TSI_WEEK, {ts '2024-01-31 12:00:00'}, {ts '2024-01-20"
                + " 12:00:00'})}"));
    assertEquals(
        "IM001",
        Howdah.state(() -> prepared("select {fn timestampdiff(SQL_TSI_MONTH, now(), now())}")));
  }

  @Test
  void whatIsNoEscapeIsAnErrorThatSaysWhere() {
    assertEquals("42601", Howdah.state(() -> prepared("select {d '2024-02-29'")));
    assertEquals("42601", Howdah.state(() -> prepared("select {fn now(}")));
    assertEquals("42601", Howdah.state(() -> prepared("select {fn now}")));
    assertEquals("42601", Howdah.state(() -> prepared("select {fn left('a')}")));
    assertEquals("42601", Howdah.state(() -> prepared("select {fn now()")));
    assertEquals("42601", Howdah.state(() -> prepared("select {unknown 'x'}")));
    assertEquals("42601", Howdah.state(() -> prepared("select {")));
  }

  @Test
  void statementsBatchesAndNativeSqlKnowThem() throws SQLException {
    assertEquals(
        "select DATE '2024-02-29', upper($1), '{d}'",
        ours.nativeSQL("select {d '2024-02-29'}, {fn ucase(?)}, '{d}'"));
    try (Statement statement = ours.createStatement()) {
      statement.execute("create temp table dated (d date)");
      statement.addBatch("insert into dated values ({d '2024-02-29'})");
      statement.addBatch("insert into dated values ({d '2024-02-28'})");
      statement.executeBatch();
      assertEquals(
          2L, Howdah.value(ours, "select count(*) from dated where d >= {d '2024-02-28'}"));
      assertEquals(
          2,
          statement.executeUpdate(
              "delete from dated where d <= {d '2024-02-29'}", Statement.RETURN_GENERATED_KEYS));
    }
  }

  @Test
  void aStatementLeavesThemWhereItIsToldTo() throws SQLException {
    try (Statement statement = ours.createStatement()) {
      assertTrue(statement.execute("select {fn ucase('a')}"));
      statement.setEscapeProcessing(false);
      assertEquals("42601", Howdah.state(() -> statement.execute("select {fn ucase('a')}")));
      assertTrue(statement.execute("select '{fn ucase()}'"));
      statement.setEscapeProcessing(true);
      assertTrue(statement.execute("select {fn ucase('a')}"));
    }
  }

  @Test
  void callsTakeThemAsArguments() throws SQLException {
    try (var call = ours.prepareCall("{? = call upper({fn concat(?, 'b')})}")) {
      call.registerOutParameter(1, java.sql.Types.VARCHAR);
      call.setString(2, "a");
      call.execute();
      assertEquals("AB", call.getString(1));
    }
  }
}
