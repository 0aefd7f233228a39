package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.time.Duration;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** target_session_attrs, with a server and its standby. */
class TargetSessionTest {
  private static int primary;
  private static int standby;

  @BeforeAll
  static void startBoth() {
    PrivateServer server = PrivateServer.shared();
    primary = server.port();
    standby = server.standby();
  }

  private static Config.Builder wanting(String target, int... ports) {
    StringBuilder hosts = new StringBuilder("127.0.0.1");
    StringBuilder all = new StringBuilder().append(ports[0]);
    for (int i = 1; i < ports.length; i++) {
      hosts.append(",127.0.0.1");
      all.append(',').append(ports[i]);
    }
    return PrivateServer.shared()
        .config()
        .host(hosts.toString())
        .set("port", all)
        .set("target_session_attrs", target);
  }

  private static int reached(Config.Builder config) {
    try (Connection connection = Connection.open(config.build())) {
      return connection.query("select inet_server_port()").get(0).getInt(0);
    }
  }

  @Test
  void theFirstServerOfTheKindThatIsWantedIsUsed() {
    assertEquals(standby, reached(wanting("any", standby, primary)));
    assertEquals(primary, reached(wanting("any", primary, standby)));
    assertEquals(primary, reached(wanting("primary", standby, primary)));
    assertEquals(primary, reached(wanting("read-write", standby, primary)));
    assertEquals(standby, reached(wanting("standby", primary, standby)));
    assertEquals(standby, reached(wanting("read-only", primary, standby)));
    assertEquals(standby, reached(wanting("prefer-standby", primary, standby)));
    assertEquals(primary, reached(wanting("prefer-standby", primary)));
  }

  @Test
  void whereNoServerIsOfTheKindTheErrorSaysWhatEachIs() {
    for (String target : new String[] {"primary", "read-write"}) {
      String message =
          assertThrows(ConnectionException.class, () -> reached(wanting(target, standby)))
              .getMessage();
      assertTrue(message.contains("is a standby") && message.contains(target), message);
    }
    for (String target : new String[] {"standby", "read-only"}) {
      String message =
          assertThrows(ConnectionException.class, () -> reached(wanting(target, primary)))
              .getMessage();
      assertTrue(message.contains("is a primary") && message.contains(target), message);
    }
  }

  @Test
  void aServerThatFallsSilentOnceItIsReadyIsGivenUpForTheNext() {
    byte[] ready = {'R', 0, 0, 0, 8, 0, 0, 0, 0, 'Z', 0, 0, 0, 5, 'I'};
    try (FakeServer silent =
        new FakeServer(InetAddress.getLoopbackAddress(), FakeServer.answering(ready))) {
      assertTimeoutPreemptively(
          Duration.ofSeconds(20),
          () -> {
            assertEquals(
                primary,
                reached(wanting("primary", silent.port(), primary).set("connect_timeout", 0.3)));
            Config.Builder alone = wanting("read-write", silent.port()).set("connect_timeout", 0.3);
            String message =
                assertThrows(ConnectionException.class, () -> reached(alone)).getMessage();
            assertTrue(message.contains("connect_timeout"), message);
          });
    }
  }

  @Test
  void aPrimaryWhoseTransactionsOnlyReadIsReadOnly() {
    try (Connection connection = PrivateServer.connect()) {
      connection.script(
          "drop role if exists reader; create role reader login; alter role reader set"
              + " default_transaction_read_only to on");
    }
    assertEquals(primary, reached(wanting("read-only", primary).user("reader")));
    assertEquals(primary, reached(wanting("primary", primary).user("reader")));
    String message =
        assertThrows(
                ConnectionException.class,
                () -> reached(wanting("read-write", primary).user("reader")))
            .getMessage();
    assertTrue(message.contains("is read-only"), message);
  }
}
