package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * A server that ends a session says why, by a SQLSTATE, and so does the error, whatever is done
 * with the connection.
 */
class FarewellTest {
  private static final String KNOWN = "select $1::int";

  private static Map<String, Consumer<Connection>> ways() {
    return Map.of(
        "a statement that is kept", connection -> connection.query(KNOWN, 1),
        "one that is kept, with the session to itself",
            connection -> connection.query(Options.DEFAULT.mostRows(1), KNOWN, 1),
        "a new statement", connection -> connection.query("select 2"),
        "a script", connection -> connection.script("select 3"),
        "a cursor", connection -> connection.cursor(KNOWN, 1),
        "a pipeline", connection -> connection.pipeline().query(KNOWN, 1).get(),
        "a transaction", connection -> connection.transaction(tx -> tx.query(KNOWN, 1)),
        "copying out",
            connection ->
                connection.copyOut("copy (select 4) to stdout", OutputStream.nullOutputStream()),
        "copying in",
            connection ->
                connection.copyIn(
                    "copy pg_temp.nothing from stdin", InputStream.nullInputStream()));
  }

  private static Connection connected(String host) {
    Connection connection = Connection.open(PrivateServer.shared().config().host(host).build());
    connection.query(KNOWN, 0);
    connection.query(KNOWN, 0);
    return connection;
  }

  private static void terminate(Connection connection) {
    try (Connection other = PrivateServer.connect()) {
      other.query("select pg_terminate_backend($1, 60000)", connection.process());
    }
  }

  @TestFactory
  Stream<DynamicTest> anEndedSessionSaysWhy() {
    return Stream.of("127.0.0.1", PrivateServer.shared().socketFolder())
        .flatMap(
            host ->
                ways().entrySet().stream()
                    .map(
                        way ->
                            DynamicTest.dynamicTest(
                                way.getKey() + " on " + host,
                                () -> {
                                  try (Connection connection = connected(host)) {
                                    terminate(connection);
                                    assertEquals(
                                        "57P01",
                                        assertThrows(
                                                PgException.class,
                                                () -> way.getValue().accept(connection))
                                            .sqlState());
                                    assertFalse(connection.isOpen());
                                  }
                                })));
  }

  @Test
  void everyThreadOnTheConnectionIsTold() throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    try (Connection connection = connected("127.0.0.1");
        Connection locker = PrivateServer.connect();
        Connection other = PrivateServer.connect()) {
      other.script("drop table if exists farewell; create table farewell (a int)");
      String blocked = "select count(*) from farewell";
      connection.query(blocked);
      connection.query(blocked);
      locker.begin(TransactionOptions.DEFAULT);
      locker.query("lock table farewell");
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        all.add(threads.submit(() -> connection.query(blocked)));
      }
      while (connection.callsUnderWay() < 4
          || other
              .query("select 1 from pg_locks where pid = $1 and not granted", connection.process())
              .isEmpty()) {
        Thread.onSpinWait();
      }
      terminate(connection);
      for (Future<?> one : all) {
        PgException error =
            (PgException) assertThrows(ExecutionException.class, one::get).getCause();
        assertEquals("57P01", error.sqlState(), error.toString());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /**
   * As a server does that stops at once, or all of whose processes end because one has crashed: it
   * sends a warning and is gone.
   */
  @Test
  void soDoesAServerThatOnlyWarns() {
    byte[] ready = {'R', 0, 0, 0, 8, 0, 0, 0, 0, 'Z', 0, 0, 0, 5, 'I'};
    byte[] fields =
        "SWARNING\0VWARNING\0C57P02\0Mterminating connection because of crash of another server process\0\0"
            .getBytes(StandardCharsets.UTF_8);
    FakeServer.Play crashing =
        socket -> {
          byte[] room = new byte[1 << 16];
          socket.getInputStream().read(room);
          socket.getOutputStream().write(ready);
          socket.getInputStream().read(room);
          socket.getOutputStream().write(new byte[] {'N', 0, 0, 0, (byte) (fields.length + 4)});
          socket.getOutputStream().write(fields);
        };
    try (FakeServer server = new FakeServer(InetAddress.getLoopbackAddress(), crashing);
        Connection connection =
            Connection.open(
                Config.builder(Map.of()).host("127.0.0.1").port(server.port()).user("u").build())) {
      assertEquals(
          "57P02", assertThrows(PgException.class, () -> connection.query("select 1")).sqlState());
      assertFalse(connection.isOpen());
    }
  }
}
