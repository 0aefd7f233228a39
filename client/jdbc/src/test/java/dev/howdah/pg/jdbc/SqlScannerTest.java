package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.ParameterTypes;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What hides a question mark, and what does not; the server confirms each. */
class SqlScannerTest {
  /** Each takes one parameter and returns its value as text, after whatever stands before it. */
  private static final List<String> ONE_PARAMETER =
      List.of(
          "select '?', ?::text",
          "select 'a''?', ?::text",
          "select E'\\'?', ?::text",
          "select e'\\\\', ?::text",
          "select E'a'\n '\\'?', ?::text",
          "select E'a' -- ?\n -- ?\n '\\'?', ?::text",
          "select 1 as \u2003E, ?::text",
          "select 1 as \u2003$a$, ?::text as \u2003$a$",
          "select '\\', ?::text",
          "select 'a'\n'?', ?::text",
          "select $$?$$, ?::text",
          "select $a$ $$?$$ $b$?$a$, ?::text",
          "select $ä$?$ä$, ?::text",
          "select 1 as \"?\", ?::text",
          "select 1 as \"a\"\"?\", ?::text",
          "select 1 as a$b$, ?::text as b$b$",
          "select /* ? */ 1, ?::text",
          "select /* /* ? */ ? */ 1, ?::text",
          "select 1 -- ?\n, ?::text",
          "select 1 + /*?*/ 2 --?\r\n, ?::text",
          "select '{\"a\":1}'::jsonb ?? 'a', ?::text",
          "select '{\"a\":1}'::jsonb ??| array['a'], ?::text",
          "select U&'\\0441?', ?::text",
          "select B'1', X'1F', N'?', ?::text",
          "select 1, ? :: text",
          "select 1, (?)",
          "select 1, ?",
          "select 1, ?;",
          "select 1, ? -- ; select 2",
          "select 1, ? /* ; */ ; -- ;");

  @TestFactory
  List<DynamicTest> aPlaceholderIsFoundAndNothingElseIs() {
    return ONE_PARAMETER.stream()
        .map(
            sql ->
                DynamicTest.dynamicTest(
                    sql,
                    () -> {
                      try (Connection connection = Howdah.connect();
                          PreparedStatement statement = connection.prepareStatement(sql)) {
                        statement.setString(1, "found");
                        try (ResultSet rows = statement.executeQuery()) {
                          assertTrue(rows.next());
                          assertEquals(
                              "found", rows.getString(rows.getMetaData().getColumnCount()));
                        }
                      }
                    }))
        .toList();
  }

  @Test
  void aBackslashEscapesWhereTheServerSaysSo() throws SQLException {
    try (Connection connection = Howdah.connect()) {
      Howdah.execute(
          connection, "set escape_string_warning = off", "set standard_conforming_strings = off");
      try (PreparedStatement statement = connection.prepareStatement("select 'a\\'?', ?::text")) {
        statement.setString(1, "found");
        try (ResultSet rows = statement.executeQuery()) {
          rows.next();
          assertEquals("a'?", rows.getString(1));
          assertEquals("found", rows.getString(2));
        }
      }
    }
  }

  private static ParsedSql scan(String sql) {
    return new SqlScanner(sql, false).scan();
  }

  @Test
  void statementsAreCounted() {
    assertFalse(scan("select 1; ").isScript());
    assertFalse(scan("select ';' -- ;\n;/* ; */").isScript());
    assertFalse(scan("create rule r as on insert to t do (select 1; select 2)").isScript());
    assertTrue(scan("select 1; select 2").isScript());
    assertTrue(scan(";;select 1;;select 2").isScript());
    assertFalse(scan("").isScript());
  }

  @Test
  void returningIsPutWhereItBelongs() {
    assertEquals(
        "insert into t values ($1) returning *; -- end",
        scan("insert into t values (?); -- end").returning("*").text());
    assertEquals(
        "update t set a = 1 returning \"id\"",
        scan("update t set a = 1").returning("\"id\"").text());
    assertEquals(
        "with x as (select 1) insert into t select * from x returning *  ",
        scan("with x as (select 1) insert into t select * from x  ").returning("*").text());
    assertEquals(
        "delete from t where a = $1 returning *",
        scan("delete from t where a = ?").returning("*").text());
    for (String unchanged :
        List.of(
            "insert into t values (1) RETURNING a",
            "select 1",
            "create table insert_ (a int)",
            "with x as (insert into t values (1) returning a) select * from x",
            "insert into t values (1); select 2")) {
      assertEquals(unchanged, scan(unchanged).returning("*").text());
    }
    assertEquals(
        "with x as (insert into t values (1) returning a) insert into u select * from x returning"
            + " *",
        scan("with x as (insert into t values (1) returning a) insert into u select * from x")
            .returning("*")
            .text());
  }

  @Test
  void typesAreDeclaredWhereTheyFit() {
    ParsedSql.Typed sum = scan("select ? + ?").typed(new String[] {null, "int4"});
    assertEquals("select $1 + $2", sum.text());
    assertEquals(ParameterTypes.of(0, 23), sum.types());
    assertEquals("select $1[1]", scan("select ?[1]").typed(new String[] {"int4[]"}).text());
    assertEquals(
        "select ($1::color[])[1]", scan("select ?[1]").typed(new String[] {"color[]"}).text());
    assertEquals("select a ? b", scan("select a ?? b").text());
    assertEquals("select a ? b", scan("select a ? b").bare().text());
    assertTrue(scan("select ?\n IS  Not NULL").place(0).nullTest());
    assertFalse(scan("select ? is nullable").place(0).nullTest());
    assertTrue(scan("select ? ::text").place(0).cast());
  }

  @Test
  void nothingTerminatedBadlyRunsAway() {
    for (String broken :
        List.of(
            "'", "\"", "$$", "$a$ $$", "/*", "E'\\", "E'", "--", "?", "??", "$", "a$", "$1",
            "'a'\n", ")))", "e", "/")) {
      scan(broken).text();
    }
    assertEquals(0, scan("$$ ?").parameters());
    assertEquals(1, scan("$1 ?").parameters());
  }
}
