package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.AbstractList;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * The functions that a program hands over may throw checked exceptions too: those of Clojure do.
 */
class CheckedExceptionTest {
  private static final String NUMBERS = "select x from generate_series(1, $1::int) x";
  private static final Options FAILING =
      Options.DEFAULT.rows(
          shape -> {
            throw thrown(new IOException("no rows"));
          });

  private Connection connection;

  @BeforeEach
  void connect() {
    connection = PrivateServer.connect();
  }

  @AfterEach
  void close() {
    connection.close();
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> RuntimeException thrown(Throwable reason) throws T {
    throw (T) reason;
  }

  private static void assertCause(Class<? extends Throwable> cause, Executable failing) {
    assertInstanceOf(cause, assertThrows(PgException.class, failing).getCause());
  }

  /** From another thread, so that a turn that was not given back would be noticed. */
  private void assertUsable() {
    assertTimeoutPreemptively(
        Duration.ofSeconds(20), () -> assertEquals(3, connection.query(NUMBERS, 3).size()));
  }

  @Test
  void aTransactionIsRolledBack() {
    connection.script(
        "drop table if exists checked_exceptions; create table checked_exceptions (a int)");
    assertThrows(
        IOException.class,
        () ->
            connection.transaction(
                inside -> {
                  inside.execute("insert into checked_exceptions values (1)");
                  throw thrown(new IOException("no"));
                }));
    assertFalse(connection.inTransaction());
    connection.transaction(inside -> inside.execute("insert into checked_exceptions values (2)"));
    try (Connection other = PrivateServer.connect()) {
      assertEquals(2, other.query("select sum(a) from checked_exceptions").get(0).getLong(0));
    }
  }

  @Test
  void aHandlerOfNoticesDoesNotTearTheConnection() {
    Config config =
        PrivateServer.shared()
            .config()
            .notices(
                notice -> {
                  throw thrown(new IOException(notice.message()));
                })
            .build();
    try (Connection noisy = Connection.open(config)) {
      assertCause(
          IOException.class,
          () -> noisy.script("do $$ begin raise notice 'look'; end $$; select 1"));
      assertEquals(2, noisy.query("select 2").get(0).getInt(0));
    }
  }

  @Test
  void aMakerOfRowsLeavesTheConnectionUsable() {
    assertCause(IOException.class, () -> connection.query(FAILING, NUMBERS, 5));
    assertUsable();
    assertCause(IOException.class, () -> connection.query(FAILING, NUMBERS, 5));
    // The statement is kept now, so it goes beside those of others.
    assertCause(IOException.class, () -> connection.query(FAILING, NUMBERS, 5));
    assertUsable();
    assertThrows(IOException.class, () -> connection.cursor(FAILING, NUMBERS, 5));
    assertUsable();
    assertThrows(IOException.class, () -> connection.portal(FAILING.opening("BEGIN"), NUMBERS, 5));
    connection.rollback();
    assertUsable();
    assertCause(IOException.class, () -> connection.script(FAILING, "select 1; select 2"));
    assertUsable();
  }

  @Test
  void aParameterThatCannotBeReadLeavesTheConnectionUsable() {
    List<Integer> broken =
        new AbstractList<>() {
          @Override
          public Integer get(int index) {
            throw thrown(new IOException("no element"));
          }

          @Override
          public int size() {
            return 2;
          }
        };
    String sql = "select $1::text, $2::int[]";
    for (int i = 0; i < 2; i++) {
      assertThrows(IOException.class, () -> connection.query(sql, "x", broken));
      assertUsable();
      connection.query(sql, "x", List.of(1));
    }
    assertThrows(IOException.class, () -> connection.cursor(sql, "x", broken));
    assertUsable();
    try (Pipeline pipeline = connection.pipeline()) {
      assertThrows(IOException.class, () -> pipeline.query(sql, "x", broken));
    }
    assertUsable();
  }

  @Test
  void copyEndsInOrder() {
    connection.script("drop table if exists checked_copies; create table checked_copies (a int)");
    assertCause(
        IOException.class,
        () ->
            connection.copyOut(
                CopyFormat.BINARY,
                "select generate_series(1, 1000000)",
                row -> {
                  throw thrown(new IOException("enough"));
                }));
    assertUsable();
    Iterable<List<?>> rows =
        () -> {
          throw thrown(new IOException("no rows"));
        };
    assertThrows(
        IOException.class,
        () ->
            connection.copyIn(
                "copy checked_copies from stdin (format binary)", List.of("int"), rows));
    assertUsable();
    Iterable<List<?>> broken =
        () ->
            new Iterator<>() {
              @Override
              public boolean hasNext() {
                return true;
              }

              @Override
              public List<?> next() {
                throw thrown(new ReflectiveOperationException("no row"));
              }
            };
    assertCause(
        ReflectiveOperationException.class,
        () ->
            connection.copyIn(
                "copy checked_copies from stdin (format binary)", List.of("int"), broken));
    assertUsable();
    assertEquals(
        1,
        connection.copyIn(
            "copy checked_copies from stdin", new ByteArrayInputStream("1\n".getBytes())));
  }
}
