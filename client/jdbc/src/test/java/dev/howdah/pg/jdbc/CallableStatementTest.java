package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.Date;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Calls of functions and procedures. */
class CallableStatementTest {
  private Connection connection;

  @BeforeEach
  void connect() throws SQLException {
    connection = Howdah.connect();
    try (var statement = connection.createStatement()) {
      statement.execute(
          """
          create function pg_temp.twice(n int) returns int language sql as 'select 2 * n';
          create function pg_temp.parts(whole numeric, out units int, inout note text, out day date) language sql as
            $$ select whole::int, note || '!', date '2026-11-23' $$;
          create function pg_temp.some(n int) returns setof int language sql as 'select generate_series(1, n)';
          create function pg_temp.nothing() returns void language sql as 'select';
          create procedure pg_temp.double_it(inout n int, out was text) language plpgsql as
            $$ begin was := 'was ' || n; n := 2 * n; end $$\
          """);
    }
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
  }

  @Test
  void plainSqlIsRunAsItIs() throws SQLException {
    try (CallableStatement call = connection.prepareCall("select current_schema(), ?::int")) {
      call.setInt(1, 7);
      assertTrue(call.execute());
      try (ResultSet rows = call.getResultSet()) {
        assertTrue(rows.next());
        assertEquals("public", rows.getString(1));
        assertEquals(7, rows.getInt(2));
      }
    }
  }

  @Test
  void anEscapeCallsProceduresToo() throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(
          "create schema if not exists \"Odd\"; create or replace procedure \"Odd\".\"give it\"(n"
              + " int) language sql as 'select 1';create or replace procedure"
              + " public.plainly_called(inout n int) language plpgsql as 'begin n := n + 1; end'");
    }
    try (CallableStatement call = connection.prepareCall("{call pg_temp.double_it(?, ?)}")) {
      call.setInt(1, 21);
      call.registerOutParameter(1, Types.INTEGER);
      call.registerOutParameter(2, Types.VARCHAR);
      call.execute();
      assertEquals(42, call.getInt(1));
      assertEquals("was 21", call.getString(2));
    }
    for (String sql :
        new String[] {
          "{call \"Odd\".\"give it\"(7)}",
          "{CALL Plainly_Called(7)}",
          "{call public . plainly_called(7)}"
        }) {
      try (CallableStatement call = connection.prepareCall(sql)) {
        call.execute();
      }
    }
    // What nobody has is an error when it is called, and nothing is begun by asking.
    connection.setAutoCommit(false);
    try (CallableStatement call = connection.prepareCall("{call no_such_thing(1)}")) {
      assertEquals(
          "42883",
          org.junit.jupiter.api.Assertions.assertThrows(SQLException.class, call::execute)
              .getSQLState());
    }
    connection.rollback();
    connection.setAutoCommit(true);
  }

  @Test
  void whatAFunctionReturnsIsTheFirstParameter() throws SQLException {
    for (String sql :
        new String[] {"{? = call pg_temp.twice(?)}", " { ?=CALL pg_temp.twice( ? ) } "}) {
      try (CallableStatement call = connection.prepareCall(sql)) {
        call.registerOutParameter(1, Types.INTEGER);
        for (int n = 1; n < 20; n++) {
          call.setInt(2, n);
          assertFalse(call.execute());
          assertEquals(2 * n, call.getInt(1));
          assertEquals(new BigDecimal(2 * n), call.getBigDecimal(1));
          assertEquals(2 * n, call.getObject(1));
        }
        call.setNull(2, Types.INTEGER);
        call.execute();
        assertEquals(0, call.getInt(1));
        assertTrue(call.wasNull());
      }
    }
  }

  @Test
  void parametersThatAreOutComeBackInTheirOrder() throws SQLException {
    try (CallableStatement call = connection.prepareCall("{call pg_temp.parts(?, ?, ?, ?)}")) {
      call.setBigDecimal(1, new BigDecimal("3.4"));
      call.setString(3, "text");
      call.registerOutParameter(2, Types.INTEGER);
      call.registerOutParameter(3, Types.VARCHAR);
      call.registerOutParameter(4, Types.DATE);
      call.execute();
      assertEquals(3, call.getInt(2));
      assertEquals("text!", call.getString(3));
      assertEquals(Date.valueOf("2026-11-23"), call.getDate(4));
    }
  }

  @Test
  void aProcedureIsCalledByItsStatement() throws SQLException {
    try (CallableStatement call = connection.prepareCall("call pg_temp.double_it(?, ?)")) {
      call.setInt(1, 21);
      call.registerOutParameter(1, Types.INTEGER);
      call.registerOutParameter(2, Types.VARCHAR);
      call.execute();
      assertEquals(42, call.getInt(1));
      assertEquals("was 21", call.getString(2));
    }
  }

  @Test
  void rowsAreReadAsOfAnyStatement() throws SQLException {
    try (CallableStatement call = connection.prepareCall("{call pg_temp.some(?)}")) {
      call.setInt(1, 3);
      int[] found = new int[3];
      try (ResultSet rows = call.executeQuery()) {
        for (int i = 0; rows.next(); i++) {
          found[i] = rows.getInt(1);
        }
      }
      assertArrayEquals(new int[] {1, 2, 3}, found);
    }
    try (CallableStatement call = connection.prepareCall("{call pg_temp.nothing}")) {
      call.execute();
    }
  }

  @Test
  void mistakesAreNamed() throws SQLException {
    try (CallableStatement call = connection.prepareCall("{? = call pg_temp.twice(?)}")) {
      call.setInt(2, 1);
      assertEquals("07001", Howdah.state(call::execute));
      assertEquals("07009", Howdah.state(() -> call.setInt(1, 1)));
      assertEquals("07009", Howdah.state(() -> call.setInt(3, 1)));
      assertEquals("07009", Howdah.state(() -> call.registerOutParameter(3, Types.INTEGER)));
      assertEquals("07001", Howdah.state(() -> call.getInt(1)));
      call.registerOutParameter(1, Types.INTEGER);
      call.execute();
      assertEquals("07009", Howdah.state(() -> call.getInt(2)));
      assertEquals("IM001", Howdah.state(() -> call.getInt("n")));
      assertEquals("IM001", Howdah.state(() -> call.setInt("n", 1)));
    }
  }
}
