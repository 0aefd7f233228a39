package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which hosts are tried, with TLS and without, and what is said when none will do. */
class HandshakeTest {
  static final String ADVICE = "No sslmode is set";
  private static final FakeServer.Play WITHOUT_TLS = FakeServer.answering(new byte[] {'N'});
  private static final FakeServer.Play BROKEN_TLS =
      FakeServer.answering(new byte[] {'S'}, "no TLS, but long enough".getBytes());

  /** An address of this machine that is not the loopback's, as those of other machines are. */
  static InetAddress elsewhere() throws SocketException {
    Optional<InetAddress> found =
        NetworkInterface.networkInterfaces()
            .flatMap(NetworkInterface::inetAddresses)
            .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress())
            .findFirst();
    if (found.isEmpty()) {
      System.err.println(
          "SKIPPED: what holds for other machines: this one has no address but the loopback's");
    }
    assumeTrue(found.isPresent());
    return found.get();
  }

  private static Config.Builder to(InetAddress host, int port) {
    return PrivateServer.shared().config().host(host.getHostAddress()).port(port);
  }

  private static String failure(Config config) {
    return assertThrows(ConnectionException.class, () -> Connection.open(config).close())
        .getMessage();
  }

  @Test
  void anotherMachineMustHaveTlsUnlessOneChoosesOtherwise() throws IOException {
    InetAddress elsewhere = elsewhere();
    try (FakeServer plain = new FakeServer(elsewhere, WITHOUT_TLS);
        FakeServer broken = new FakeServer(elsewhere, BROKEN_TLS)) {
      String without = failure(to(elsewhere, plain.port()).build());
      assertTrue(without.contains("has no TLS") && without.contains(ADVICE), without);
      String wrong = failure(to(elsewhere, broken.port()).build());
      assertTrue(wrong.contains("TLS with") && wrong.contains(ADVICE), wrong);
      String chosen = failure(to(elsewhere, plain.port()).set("sslmode", "require").build());
      assertTrue(chosen.contains("sslmode is require") && !chosen.contains(ADVICE), chosen);
    }
  }

  @Test
  void adviceOnTlsIsGivenWhereTlsIsWhatFailed() throws IOException {
    InetAddress elsewhere = elsewhere();
    int closed;
    try (ServerSocket socket = new ServerSocket(0, 1, elsewhere)) {
      closed = socket.getLocalPort();
    }
    String refused = failure(to(elsewhere, closed).build());
    assertFalse(refused.contains(ADVICE), refused);
  }

  @Test
  void withPreferTheConnectionIsPlainWhereTlsFails() {
    PrivateServer server = PrivateServer.shared();
    InetAddress here = InetAddress.getLoopbackAddress();
    try (FakeServer broken = new FakeServer(here, BROKEN_TLS, FakeServer.relayTo(server.port()));
        Connection connection =
            Connection.open(to(here, broken.port()).set("sslmode", "prefer").build())) {
      assertFalse(
          connection
              .query("select ssl from pg_stat_ssl where pid = pg_backend_pid()")
              .get(0)
              .getBoolean(0));
      assertEquals(2, broken.connections());
    }
    try (FakeServer broken = new FakeServer(here, BROKEN_TLS, FakeServer.relayTo(server.port()))) {
      String required = failure(to(here, broken.port()).set("sslmode", "require").build());
      assertTrue(required.contains("TLS with"), required);
      assertEquals(1, broken.connections());
    }
  }

  @Test
  void whatComesInFrontOfTlsIsRefusedAtOnce() {
    InetAddress here = InetAddress.getLoopbackAddress();
    try (FakeServer hasty = new FakeServer(here, FakeServer.answering("Sinjected".getBytes()))) {
      String tampered = failure(to(here, hasty.port()).set("sslmode", "prefer").build());
      assertTrue(tampered.contains("tampered"), tampered);
    }
  }

  /** The answer of a server that refuses every connection. */
  private static FakeServer.Play refusing(String sqlState) {
    WireOutput out = new WireOutput(64);
    int message = out.begin('E');
    for (String field : List.of("SFATAL", "VFATAL", "C" + sqlState, "Mno")) {
      out.cstring(field);
    }
    out.int1(0);
    out.end(message);
    return FakeServer.answering(out.toByteArray());
  }

  private static Config.Builder both(FakeServer first, int second) {
    return PrivateServer.shared()
        .config()
        .host("127.0.0.1,127.0.0.1")
        .set("port", first.port() + "," + second);
  }

  @Test
  void aServerThatRefusesUsIsTheLastThatIsTried() {
    InetAddress here = InetAddress.getLoopbackAddress();
    try (FakeServer next = new FakeServer(here, WITHOUT_TLS)) {
      for (String sqlState : List.of("28P01", "28000", "3D000", "53300")) {
        try (FakeServer refusing = new FakeServer(here, refusing(sqlState))) {
          Config config = both(refusing, next.port()).build();
          assertEquals(
              sqlState,
              assertThrows(ServerException.class, () -> Connection.open(config).close())
                  .sqlState());
        }
      }
      byte[] asksForPassword = {'R', 0, 0, 0, 8, 0, 0, 0, 3};
      try (FakeServer asking = new FakeServer(here, FakeServer.answering(asksForPassword))) {
        String cleartext = failure(both(asking, next.port()).password("secret").build());
        assertTrue(cleartext.contains("allow_cleartext_password"), cleartext);
        String none =
            failure(
                both(asking, next.port())
                    .set("allow_cleartext_password", true)
                    .set("passfile", "/nowhere")
                    .build());
        assertTrue(none.contains("PGPASSWORD"), none);
      }
      assertEquals(0, next.connections());
    }
  }

  @Test
  void aServerThatOnlyStartsOrIsGoneIsPassedOver() {
    InetAddress here = InetAddress.getLoopbackAddress();
    int real = PrivateServer.shared().port();
    for (FakeServer.Play play : List.of(refusing("57P03"), socket -> {})) {
      try (FakeServer first = new FakeServer(here, play);
          Connection connection = Connection.open(both(first, real).build())) {
        assertEquals(1, connection.query("select 1").size());
        assertEquals(1, first.connections());
      }
    }
  }

  @Test
  void anAddressInNumbersIsConnectedToInPlaceOfTheHostsOwn() {
    Config.Builder config =
        PrivateServer.shared().config().host("nowhere.invalid").set("hostaddr", "127.0.0.1");
    try (Connection connection = Connection.open(config.build())) {
      assertEquals(1, connection.query("select 1").size());
    }
    assertThrows(IllegalArgumentException.class, () -> config.set("hostaddr", "localhost").build());
    assertThrows(
        IllegalArgumentException.class, () -> config.set("hostaddr", "127.0.0.1,::1").build());
    Config alone = Config.builder(Map.of("PGHOSTADDR", "::1")).build();
    assertEquals(List.of(new Config.Address("::1", "::1", 5432)), alone.addresses());
  }

  @Test
  void parametersOfLibpqThatChangeNothingAreAccepted() {
    Config config =
        ConnectionString.parse(
                "postgresql://h/d?ssl=true&keepalives=1&keepalives_idle=30&tcp_user_timeout=5"
                    + "&client_encoding=UTF8&gssencmode=disable&fallback_application_name=tool",
                Config.builder(Map.of()))
            .build();
    assertEquals("require", config.sslMode());
    assertEquals("tool", config.applicationName());
    assertEquals(
        "disable",
        ConnectionString.parse("postgresql://h/d?ssl=false", Config.builder(Map.of()))
            .build()
            .sslMode());
    assertEquals(
        "mine", config.toBuilder().set("application_name", "mine").build().applicationName());
    assertEquals("env", Config.builder(Map.of("PGAPPNAME", "env")).build().applicationName());
    assertEquals(
        "howdah", Config.builder(Map.of("PGGSSENCMODE", "prefer")).build().applicationName());
  }

  @Test
  void parametersWhosePromiseWouldNotBeKeptAreRefusedByName() {
    for (String setting :
        List.of(
            "require_auth=scram-sha-256",
            "sslcrl=/x",
            "sslcrldir=/x",
            "ssl_min_protocol_version=TLSv1.3",
            "ssl_max_protocol_version=TLSv1.3",
            "requirepeer=postgres",
            "service=x",
            "gssencmode=require",
            "client_encoding=LATIN1",
            "sslnegotiation=direct",
            "replication=database",
            "sslpassword=x",
            "ssl=maybe")) {
      IllegalArgumentException refused =
          assertThrows(
              IllegalArgumentException.class,
              () ->
                  ConnectionString.parse("postgresql://h/d?" + setting, Config.builder(Map.of()))
                      .build());
      assertTrue(
          refused.getMessage().contains(setting.substring(0, setting.indexOf('='))),
          refused.getMessage());
    }
    for (String variable :
        List.of(
            "PGREQUIREAUTH",
            "PGSSLCRL",
            "PGSSLCRLDIR",
            "PGSSLMINPROTOCOLVERSION",
            "PGSSLMAXPROTOCOLVERSION",
            "PGREQUIREPEER",
            "PGSERVICE")) {
      IllegalArgumentException refused =
          assertThrows(
              IllegalArgumentException.class, () -> Config.builder(Map.of(variable, "x")).build());
      assertTrue(refused.getMessage().contains(variable), refused.getMessage());
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> Config.builder(Map.of("PGGSSENCMODE", "require")).build());
  }

  /** Tells why it cannot connect, in a process of its own, whose host names come from a file. */
  public static void main(String[] arguments) {
    System.out.println(
        failure(Config.parse("postgresql://app@several:" + arguments[0] + "/app?sslmode=require")));
  }

  @Test
  void ofSeveralAddressesTheOneThatWasReachedIsHeard(@TempDir Path folder)
      throws IOException, InterruptedException {
    for (String addresses :
        List.of(
            "127.0.0.1 several\n127.0.0.2 several\n", "127.0.0.2 several\n127.0.0.1 several\n")) {
      Path names = Files.writeString(folder.resolve("hosts"), addresses);
      try (FakeServer server = new FakeServer(InetAddress.getLoopbackAddress(), WITHOUT_TLS)) {
        Process process =
            new ProcessBuilder(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-Djdk.net.hosts.file=" + names,
                    "-cp",
                    System.getProperty("java.class.path"),
                    HandshakeTest.class.getName(),
                    Integer.toString(server.port()))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String told = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor());
        assertTrue(told.contains("has no TLS"), told);
      }
    }
  }
}
