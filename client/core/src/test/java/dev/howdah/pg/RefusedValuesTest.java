package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Values that cannot be sent are refused by an error that says what is wrong, and the connection
 * goes on.
 */
class RefusedValuesTest {
  private Connection connection;

  @BeforeEach
  void connect() {
    connection = PrivateServer.connect();
  }

  @AfterEach
  void close() {
    assertEquals(1, connection.query("select 1").size());
    connection.close();
  }

  private void refused(String state, String part, String sql, Object... parameters) {
    PgException error = assertThrows(PgException.class, () -> connection.query(sql, parameters));
    assertEquals(state, error.sqlState(), error.getMessage());
    assertTrue(error.getMessage().contains(part), error.getMessage());
  }

  @Test
  void halfOfASurrogatePairIsNoText() {
    for (String text : List.of("a\ud83d", "\ude00", "\ud83d\ud83d\ude00", "é\ude00x")) {
      refused("22021", "$1", "select $1::text", text);
      refused("22021", "$1", "select $1::text[]", List.of("fine", text));
      refused("22021", "surrogate", "select '" + text + "'");
      assertThrows(PgException.class, () -> connection.script("select '" + text + "'"));
    }
    for (String text : List.of("😀", "é😀😀x", "")) {
      assertEquals(text, connection.query("select $1::text", text).get(0).getString(0));
    }
  }

  @Test
  void moreParametersThanAStatementCanHaveAreSaidToBe() {
    StringBuilder sql = new StringBuilder("select 1 where 1 in (0");
    for (int i = 1; i <= 70_000; i++) {
      sql.append(", $").append(i);
    }
    refused("54023", "70000", sql.append(')').toString(), Collections.nCopies(70_000, 1).toArray());
  }

  @Test
  void aKeyOfAnHstoreIsNotNull() {
    if (ServerBuild.makesExtension(connection, "hstore", "keys of an hstore that are null")) {
      refused("22004", "cannot be null", "select $1::hstore", Collections.singletonMap(null, "x"));
      refused("22004", "cannot be null", "select $1::hstore", Collections.singletonMap(null, null));
    }
  }

  @Test
  void anErrorWithoutAPlaceShowsTheStatement() {
    connection.script("create temp table once (a int primary key); insert into once values (1)");
    String sql = "insert into once values ($1)";
    ServerException error = assertThrows(ServerException.class, () -> connection.execute(sql, 1));
    assertEquals(sql, error.sql());
    assertTrue(error.getMessage().contains(sql), error.getMessage());
    assertTrue(
        assertThrows(
                    ServerException.class,
                    () -> connection.execute(sql + " /* " + "x".repeat(2000) + " */", 1))
                .getMessage()
                .length()
            < 1000);
  }
}
