package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AuthenticationTest {
  private static final char[] STORE_PASSWORD = "changeit".toCharArray();

  /** A server that was built without TLS takes none of the rules if one of them is of this kind. */
  private static final String WITH_TLS =
      """
      hostssl all by_tls 127.0.0.1/32 scram-sha-256
      host all by_tls 127.0.0.1/32 reject
      hostssl all by_certificate 127.0.0.1/32 cert
      """;

  @TempDir static Path folder;

  /** The server's. */
  private static Identity own;

  private static Path root;
  private static Path clientCertificate;
  private static Path clientKey;
  private static boolean tls;

  @BeforeAll
  static void prepareServer() throws IOException, GeneralSecurityException, InterruptedException {
    PrivateServer server = PrivateServer.shared();
    makeCertificates(server);
    try (Connection connection = PrivateServer.connect()) {
      connection.script(
          """
          set password_encryption = 'scram-sha-256'; create role by_scram login password 'päss wörd';
          create role prepared login; create role by_certificate login;
          create role by_tls login password 'secret'; create role in_clear login password 'secret';
          set password_encryption = 'md5'; create role by_md5 login password 'secret';
          """);
      tls = ServerBuild.speaksTls(connection, "connections with TLS");
      if (tls) {
        connection.script("alter system set ssl = on");
        connection.script("alter system set ssl_ca_file = 'clients.crt'");
      }
    }
    Object before = loaded();
    server.allow(
        """
        local all by_scram scram-sha-256
        host all by_scram 127.0.0.1/32 scram-sha-256
        host all prepared 127.0.0.1/32 scram-sha-256
        host all by_md5 127.0.0.1/32 md5
        host all in_clear 127.0.0.1/32 password
        """
            + (tls ? WITH_TLS : ""));
    while (loaded().equals(before)) {
      Thread.onSpinWait();
    }
  }

  /** Has the server show another certificate. */
  private static void become(Identity identity) {
    PrivateServer server = PrivateServer.shared();
    server.install("server.crt", identity.certificate());
    server.install("server.key", identity.key());
    Object before = loaded();
    server.reload();
    while (loaded().equals(before)) {
      Thread.onSpinWait();
    }
  }

  private static Object loaded() {
    try (Connection connection = PrivateServer.connect()) {
      return connection.query("select pg_conf_load_time()").get(0).getObject(0);
    }
  }

  /** A key that has signed its own certificate. */
  private record Identity(byte[] certificate, byte[] key) {}

  private static Identity identity(String name, String... kind)
      throws IOException, GeneralSecurityException, InterruptedException {
    Path store = folder.resolve(name + ".p12");
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                name,
                "-dname",
                "CN=" + name,
                "-ext",
                "SAN=dns:localhost",
                "-validity",
                "10",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                new String(STORE_PASSWORD)));
    command.addAll(List.of(kind));
    Process keytool = new ProcessBuilder(command).inheritIO().start();
    assertEquals(0, keytool.waitFor());
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, STORE_PASSWORD);
    }
    return new Identity(
        pem("CERTIFICATE", keys.getCertificate(name).getEncoded()),
        pem("PRIVATE KEY", keys.getKey(name, STORE_PASSWORD).getEncoded()));
  }

  private static void makeCertificates(PrivateServer server)
      throws IOException, GeneralSecurityException, InterruptedException {
    own = identity("localhost", "-keyalg", "RSA", "-keysize", "2048");
    server.install("server.crt", own.certificate());
    server.install("server.key", own.key());
    root = Files.write(folder.resolve("root.crt"), own.certificate());
    Identity client = identity("by_certificate", "-keyalg", "EC", "-groupname", "secp256r1");
    server.install("clients.crt", client.certificate());
    clientCertificate = Files.write(folder.resolve("client.crt"), client.certificate());
    clientKey = Files.write(folder.resolve("client.key"), client.key());
  }

  private static byte[] pem(String label, byte[] content) {
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
    return ("-----BEGIN " + label + "-----\n" + body + "\n-----END " + label + "-----\n")
        .getBytes(StandardCharsets.US_ASCII);
  }

  private static Config.Builder as(String user, String password) {
    return PrivateServer.shared().config().user(user).password(password);
  }

  private static boolean usesTls(Config config) {
    try (Connection connection = Connection.open(config)) {
      return connection
          .query("select ssl from pg_stat_ssl where pid = pg_backend_pid()")
          .get(0)
          .getBoolean(0);
    }
  }

  @Test
  void scramAndMd5PasswordsAreAccepted() {
    assertFalse(usesTls(as("by_scram", "päss wörd").build()));
    assertFalse(usesTls(as("by_md5", "secret").build()));
    ServerException wrong =
        assertThrows(ServerException.class, () -> usesTls(as("by_scram", "wrong").build()));
    assertEquals("28P01", wrong.sqlState());
    assertThrows(ServerException.class, () -> usesTls(as("by_md5", "wrong").build()));
    assertThrows(ConnectionException.class, () -> usesTls(as("by_md5", "").build()));
  }

  private static void setPassword(Connection administrator, String password) {
    administrator.script(
        administrator
            .first("select format('alter role prepared password %L', $1::text)", password)
            .getString(0));
  }

  /**
   * What the server made of the first password is kept; whoever knows the second must be let in, or
   * must not.
   */
  private static void assertLogin(
      Connection administrator, String kept, String given, boolean accepted) {
    setPassword(administrator, kept);
    try {
      assertFalse(usesTls(as("prepared", given).build()));
      assertTrue(accepted, "accepted: " + kept + " as " + given);
    } catch (ServerException e) {
      assertEquals("28P01", e.sqlState());
      assertFalse(accepted, "refused: " + kept + " as " + given);
    }
  }

  @Test
  void aScramPasswordIsPreparedAsTheServerDoes() {
    try (Connection administrator = PrivateServer.connect()) {
      // Mapped to nothing, mapped to a space, and NFKC.
      assertLogin(administrator, "I\u00adX", "IX", true);
      assertLogin(administrator, "\u2764\ufe0f", "\u2764", true);
      assertLogin(administrator, "a\u3000b", "a b", true);
      assertLogin(administrator, "\u2168\u00aa", "IXa", true);
      assertLogin(administrator, "\u00c5", "A\u030a", true);
      // What may not be prepared is kept as it is: unassigned, prohibited, nothing left, mixed
      // directions.
      assertLogin(administrator, "\u2460\ud83d\ude00", "\u2460\ud83d\ude00", true);
      assertLogin(administrator, "\u2460\ud83d\ude00", "1\ud83d\ude00", false);
      assertLogin(administrator, "\u2460\u0085", "\u2460\u0085", true);
      assertLogin(administrator, "\u2460\ue000", "1\ue000", false);
      assertLogin(administrator, "\u00ad", "\u00ad", true);
      assertLogin(administrator, "\u0627\u2460\u0628", "\u06271\u0628", true);
      assertLogin(administrator, "\u0627x\u00ad\u0628", "\u0627x\u0628", false);
      assertLogin(administrator, "\u0627\u00ad1", "\u06271", false);
      assertLogin(administrator, "a\u0001\u007f", "a\u0001\u007f", true);
    }
  }

  @Test
  void anyPasswordThatTheServerKeepsLetsIn() {
    String alphabet =
        "aZ1 \u00a0\u00ad\u00e9\u0221\u0301\u0340\u05d0\u0627\u06dd\u200b\u200f\u2028\u2168\u2460\u3000\ufb01\ufe0f\ufeff\uffff";
    int[] characters =
        (alphabet + "\ud83d\ude00\ud834\udd5e\udb40\udc21\ud87e\udc00").codePoints().toArray();
    Random random = new Random(4013);
    try (Connection administrator = PrivateServer.connect()) {
      for (int i = 0; i < 150; i++) {
        int[] password =
            random
                .ints(1 + random.nextInt(4), 0, characters.length)
                .map(at -> characters[at])
                .toArray();
        String text = new String(password, 0, password.length);
        assertLogin(administrator, text, text, true);
      }
    }
  }

  @Test
  void aCleartextPasswordIsSentOnlyWhenAllowed() {
    assertThrows(ConnectionException.class, () -> usesTls(as("in_clear", "secret").build()));
    assertFalse(usesTls(as("in_clear", "secret").set("allow_cleartext_password", true).build()));
  }

  @Test
  void theModesOfTlsMeanWhatTheyMeanInLibpq() {
    assumeTrue(tls);
    assertThrows(
        ServerException.class,
        () -> usesTls(as("by_tls", "secret").set("sslmode", "disable").build()));
    assertTrue(usesTls(as("by_tls", "secret").set("sslmode", "allow").build()));
    assertFalse(usesTls(as("by_scram", "päss wörd").set("sslmode", "allow").build()));
    assertTrue(usesTls(as("by_scram", "päss wörd").set("sslmode", "prefer").build()));
    assertTrue(usesTls(as("by_tls", "secret").set("sslmode", "require").build()));
    Config.Builder trusting = as("by_tls", "secret").set("sslrootcert", root);
    assertTrue(usesTls(trusting.set("sslmode", "verify-ca").build()));
    assertTrue(usesTls(trusting.set("sslmode", "verify-full").host("localhost").build()));
    assertThrows(
        ConnectionException.class,
        () -> usesTls(trusting.host("127.0.0.1").build()),
        "the certificate is for localhost, not for the address");
    assertTrue(usesTls(trusting.host("localhost").set("channel_binding", "require").build()));
    assertThrows(
        ConnectionException.class,
        () ->
            usesTls(
                as("by_scram", "päss wörd")
                    .set("channel_binding", "require")
                    .set("sslmode", "disable")
                    .build()));
  }

  /** Its name does not tell the hash, as those of older signatures do. */
  @Test
  void aCertificateSignedByRsaPssBindsTheChannelToo()
      throws IOException, GeneralSecurityException, InterruptedException {
    assumeTrue(tls);
    become(identity("pss", "-keyalg", "RSA", "-keysize", "2048", "-sigalg", "RSASSA-PSS"));
    try {
      assertTrue(
          usesTls(
              as("by_tls", "secret")
                  .set("sslmode", "require")
                  .set("channel_binding", "require")
                  .build()));
    } finally {
      become(own);
    }
  }

  /** Connects from a process of its own, and wants the channel bound. */
  public static void main(String[] arguments) {
    System.exit(
        usesTls(
                Config.builder(Map.of())
                    .host("127.0.0.1")
                    .port(Integer.parseInt(arguments[0]))
                    .database("postgres")
                    .user("by_tls")
                    .password("secret")
                    .set("sslmode", "require")
                    .set("channel_binding", "require")
                    .set("connect_timeout", "60")
                    .build())
            ? 0
            : 1);
  }

  /**
   * TLS has no name for a signature with SHA-3, so OpenSSL refuses a client that names those a
   * certificate may have. The JDK does, unless it is told not to.
   */
  @Test
  void aCertificateSignedWithSha3BindsTheChannelToo()
      throws IOException, GeneralSecurityException, InterruptedException {
    assumeTrue(tls);
    become(identity("sha3", "-keyalg", "RSA", "-keysize", "2048", "-sigalg", "SHA3-256withRSA"));
    try {
      Process process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-Djdk.tls.client.disableExtensions=signature_algorithms_cert",
                  "-cp",
                  System.getProperty("java.class.path"),
                  AuthenticationTest.class.getName(),
                  Integer.toString(PrivateServer.shared().port()))
              .inheritIO()
              .start();
      assertEquals(0, process.waitFor());
    } finally {
      become(own);
    }
  }

  @Test
  void aClientCertificateStandsForAPassword() throws IOException {
    IllegalArgumentException half =
        assertThrows(
            IllegalArgumentException.class,
            () -> as("by_certificate", "").set("sslcert", clientCertificate).build());
    assertTrue(half.getMessage().contains("sslkey"), half.getMessage());
    assertThrows(
        IllegalArgumentException.class,
        () -> as("by_certificate", "").set("sslkey", clientKey).build());
    assumeTrue(tls);
    Config.Builder certified =
        as("by_certificate", "")
            .host("localhost")
            .set("sslmode", "verify-full")
            .set("sslrootcert", root)
            .set("sslcert", clientCertificate)
            .set("sslkey", clientKey);
    assertTrue(usesTls(certified.build()));
    ServerException without =
        assertThrows(
            ServerException.class,
            () -> usesTls(as("by_certificate", "").set("sslmode", "require").build()));
    assertEquals("28000", without.sqlState());
    Path encrypted =
        Files.writeString(
            folder.resolve("encrypted.key"), "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
    ConnectionException refused =
        assertThrows(
            ConnectionException.class,
            () -> usesTls(certified.user("by_certificate").set("sslkey", encrypted).build()));
    assertTrue(refused.getMessage().contains("openssl pkcs8"), refused.getMessage());
  }

  @Test
  void aPoolNoticesOverTlsTooThatABackendWasKilled() {
    assumeTrue(tls);
    try (Pool pool =
            new Pool(
                as("by_tls", "secret").set("sslmode", "require").build(),
                Pool.Settings.DEFAULT.size(1));
        Connection other = PrivateServer.connect()) {
      int process = pool.with(Connection::process);
      assertEquals(process, pool.with(Connection::process));
      other.query("select pg_terminate_backend($1, 60000)", process);
      assertEquals(1, pool.query("select 1").size());
    }
  }

  @Test
  void aCertificateIsVerifiedByRootsThatAreThere() throws IOException {
    assumeTrue(tls);
    for (String mode : List.of("require", "verify-ca", "verify-full")) {
      assertFailure(
          "TLS with",
          as("by_tls", "secret")
              .host("localhost")
              .set("sslmode", mode)
              .set("sslrootcert", clientCertificate));
    }
    String home = System.setProperty("user.home", folder.toString());
    try {
      assertFailure(
          "verify-ca needs a file of roots", as("by_tls", "secret").set("sslmode", "verify-ca"));
      for (String mode : List.of("require", "verify-ca", "verify-full")) {
        Config.Builder missing =
            as("by_tls", "secret")
                .set("sslmode", mode)
                .set("sslrootcert", folder.resolve("missing.crt"));
        assertFailure("missing.crt, which sslrootcert names", missing);
      }
      Path empty = Files.write(folder.resolve("empty.crt"), new byte[0]);
      assertFailure(
          "has no certificate",
          as("by_tls", "secret").set("sslmode", "verify-ca").set("sslrootcert", empty));
      Path usual = Files.createDirectories(folder.resolve(".postgresql")).resolve("root.crt");
      Files.copy(root, usual);
      assertTrue(usesTls(as("by_tls", "secret").set("sslmode", "verify-ca").build()));
      Files.delete(usual);
    } finally {
      System.setProperty("user.home", home);
    }
  }

  @Test
  void theCertificateOfAnotherMachineMustNameItUnlessOneChoosesOtherwise() throws IOException {
    assumeTrue(tls);
    InetAddress elsewhere = HandshakeTest.elsewhere();
    try (FakeServer relay =
        new FakeServer(elsewhere, FakeServer.relayTo(PrivateServer.shared().port()))) {
      Config.Builder there =
          as("by_tls", "secret").host(elsewhere.getHostAddress()).port(relay.port());
      assertFailure(HandshakeTest.ADVICE, there);
      assertTrue(usesTls(there.set("sslmode", "require").build()));
      there.set("sslrootcert", root).set("sslmode", null);
      assertFailure(HandshakeTest.ADVICE, there);
      assertTrue(usesTls(there.set("sslmode", "verify-ca").build()));
    }
  }

  private static void assertFailure(String wanted, Config.Builder config) {
    ConnectionException error =
        assertThrows(ConnectionException.class, () -> usesTls(config.build()));
    assertTrue(error.getMessage().contains(wanted), error.getMessage());
  }

  @Test
  void theRootsOfTheSystemAreTrustedForTheHostsThatTheyNameAlone() {
    for (String weaker : List.of("disable", "allow", "prefer", "require", "verify-ca")) {
      IllegalArgumentException weak =
          assertThrows(
              IllegalArgumentException.class,
              () -> as("by_scram", "").set("sslrootcert", "system").set("sslmode", weaker).build());
      assertTrue(weak.getMessage().contains("use verify-full"), weak.getMessage());
    }
    assertThrows(
        ConnectionException.class,
        () -> usesTls(as("by_scram", "päss wörd").set("sslrootcert", "system").build()),
        "without sslmode it must be verify-full, here too");
  }

  @Test
  void muchDataGoesThroughTls() {
    assumeTrue(tls);
    try (Connection connection =
        Connection.open(as("by_tls", "secret").set("sslmode", "require").build())) {
      byte[] large = new byte[20_000_000];
      assertEquals(
          large.length, connection.query("select length($1::bytea)", large).get(0).getInt(0));
      assertEquals(
          200_000,
          connection.query("select x, repeat('x', 50) from generate_series(1, 200000) x").size());
      PgTimeoutException late =
          assertThrows(
              PgTimeoutException.class,
              () ->
                  connection.query(
                      Options.DEFAULT.timeout(Duration.ofMillis(50)), "select pg_sleep(20)"));
      assertEquals("57014", late.sqlState());
    }
  }

  @Test
  void whatIsWrittenAfterTlsWasClosedIsAnError() {
    assumeTrue(tls);
    Session session = Handshake.open(as("by_tls", "secret").set("sslmode", "require").build());
    session.close();
    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () ->
            assertThrows(
                IOException.class, () -> session.wire.transport().write(ByteBuffer.allocate(1))));
  }

  @Test
  void threadsShareAConnectionWithTls() throws InterruptedException, ExecutionException {
    assumeTrue(tls);
    ExecutorService threads = SharedConnectionTest.threads();
    String echo = "select $1::text, $2::int";
    String large = "x".repeat(500_000);
    try (Connection connection =
        Connection.open(as("by_tls", "secret").set("sslmode", "require").build())) {
      connection.query(echo, "", 0);
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        int mine = i;
        all.add(
            threads.submit(
                () -> {
                  for (int round = 0; round < 20; round++) {
                    String text = round % 5 == 0 ? large + mine : "small" + mine;
                    Row row = connection.query(echo, text, round).get(0);
                    assertEquals(text, row.getString(0));
                    assertEquals(round, row.getInt(1));
                  }
                }));
      }
      for (Future<?> one : all) {
        one.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void aPasswordIsFoundInTheFile() throws IOException {
    Path file = folder.resolve("passwords");
    Files.writeString(
        file,
        "# comment\n"
            + "other:*:*:*:no\n"
            + "127.0.0.1:*:postgres:by_scram:päss wörd\n"
            + "*:*:*:by_md5:se\\cret\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    assertFalse(
        usesTls(PrivateServer.shared().config().user("by_scram").set("passfile", file).build()));
    assertFalse(
        usesTls(PrivateServer.shared().config().user("by_md5").set("passfile", file).build()));
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
    ConnectionException open =
        assertThrows(
            ConnectionException.class,
            () ->
                usesTls(
                    PrivateServer.shared().config().user("by_md5").set("passfile", file).build()));
    assertTrue(open.getMessage().contains("0600"), open.getMessage());
  }

  @Test
  void aPasswordIsFoundByTheFolderOfTheSocketAsByLibpq() throws IOException {
    String sockets = PrivateServer.shared().socketFolder();
    Path file = folder.resolve(".pgpass");
    String home = System.setProperty("user.home", folder.toString());
    try {
      Files.writeString(file, "localhost:*:*:*:wrong\n" + sockets + ":*:*:by_scram:päss wörd\n");
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
      assertFalse(usesTls(PrivateServer.shared().config().host(sockets).user("by_scram").build()));
      for (String usual : Config.SOCKET_FOLDERS) {
        assertEquals("wrong", passwordFor(usual));
      }
      Files.writeString(
          file,
          Config.SOCKET_FOLDERS.get(0)
              + ":5432:*:u:first\n"
              + Config.SOCKET_FOLDERS.get(1)
              + ":*:d:*:second\n");
      assertEquals("first", passwordFor(Config.SOCKET_FOLDERS.get(0)));
      assertEquals("second", passwordFor(Config.SOCKET_FOLDERS.get(1)));
      assertNull(passwordFor("localhost"));
    } finally {
      System.setProperty("user.home", home);
      Files.delete(file);
    }
  }

  private static String passwordFor(String host) {
    Config config = Config.builder(Map.of()).host(host).user("u").database("d").build();
    return PasswordFile.find(config, config.addresses().get(0));
  }

  /** A connection that knows what the environment says and nothing else. */
  private static Row open(String... variables) {
    Map<String, String> environment =
        new HashMap<>(
            Map.of(
                "PGHOST",
                "localhost",
                "PGPORT",
                Integer.toString(PrivateServer.shared().port()),
                "PGDATABASE",
                "postgres",
                "PGUSER",
                "by_scram",
                "PGPASSWORD",
                "päss wörd"));
    for (int i = 0; i < variables.length; i += 2) {
      environment.put(variables[i], variables[i + 1]);
    }
    try (Connection connection = Connection.open(Config.builder(environment).build())) {
      return connection.first(
          "select user, ssl, current_setting('application_name') as name,"
              + " current_setting('work_mem') as work from pg_stat_ssl where pid ="
              + " pg_backend_pid()");
    }
  }

  @Test
  void theEnvironmentIsObeyed() throws IOException {
    assertEquals("by_scram", open("PGAPPNAME", "x").getString("user"));
    assertEquals("x", open("PGAPPNAME", "x").getString("name"));
    assertEquals("77kB", open("PGOPTIONS", "-c work_mem=77kB").getString("work"));
    assertEquals(
        "28P01", assertThrows(ServerException.class, () -> open("PGPASSWORD", "wrong")).sqlState());
    assertEquals(
        "3D000",
        assertThrows(ServerException.class, () -> open("PGDATABASE", "absent")).sqlState());
    assertThrows(ConnectionException.class, () -> open("PGTARGETSESSIONATTRS", "standby"));
    assertThrows(
        ConnectionException.class,
        () -> open("PGCHANNELBINDING", "require", "PGSSLMODE", "disable"));
    Path file = Files.writeString(folder.resolve("environment"), "localhost:*:*:by_md5:secret\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    assertEquals(
        "by_md5",
        open("PGUSER", "by_md5", "PGPASSWORD", "", "PGPASSFILE", file.toString())
            .getString("user"));
    assumeTrue(tls);
    assertFalse(open("PGSSLMODE", "disable").getBoolean("ssl"));
    assertTrue(open("PGSSLMODE", "require").getBoolean("ssl"));
    assertTrue(
        open("PGSSLMODE", "verify-full", "PGSSLROOTCERT", root.toString()).getBoolean("ssl"));
    assertThrows(
        ConnectionException.class,
        () -> open("PGSSLMODE", "verify-full", "PGSSLROOTCERT", clientCertificate.toString()));
    assertEquals(
        "by_certificate",
        open(
                "PGUSER",
                "by_certificate",
                "PGPASSWORD",
                "",
                "PGSSLMODE",
                "require",
                "PGSSLCERT",
                clientCertificate.toString(),
                "PGSSLKEY",
                clientKey.toString())
            .getString("user"));
  }

  @Test
  void aUriMayNameTheFolderOfASocket() {
    String uri =
        "postgres://"
            + PrivateServer.USER
            + "@"
            + PrivateServer.shared().socketFolder().replace("/", "%2F")
            + ":"
            + PrivateServer.shared().port()
            + "/postgres";
    try (Connection connection =
        Connection.open(ConnectionString.parse(uri, Config.builder(Map.of())).build())) {
      assertNull(connection.first("select inet_client_addr()").getObject(0));
    }
  }

  @Test
  void connectionStringsAreReadAsByLibpq() {
    Config uri =
        ConnectionString.parse(
                "postgresql://us%40er:p+w%2F@h1:1,[::1]:2/d%20b?sslmode=require&application_name=x",
                Config.builder(Map.of()))
            .build();
    assertEquals(
        List.of(new Config.Address("h1", 1), new Config.Address("::1", 2)), uri.addresses());
    assertEquals("us@er", uri.user());
    assertEquals("p+w/", uri.text(Setting.PASSWORD));
    assertEquals("d b", uri.database());
    assertEquals("require", uri.text(Setting.SSLMODE));
    Config pairs =
        ConnectionString.parse(
                "host=a port = 7 dbname='my \\'db' user=u", Config.builder(Map.of("PGUSER", "env")))
            .build();
    assertEquals(List.of(new Config.Address("a", 7)), pairs.addresses());
    assertEquals("my 'db", pairs.database());
    assertEquals("u", pairs.user());
    Config environment =
        Config.builder(
                Map.of("PGHOST", "e", "PGPORT", "9", "PGUSER", "eu", "PGCONNECT_TIMEOUT", "3"))
            .build();
    assertEquals(List.of(new Config.Address("e", 9)), environment.addresses());
    assertEquals("eu", environment.database());
    assertEquals(3, environment.connectTimeout().toSeconds());
    assertThrows(IllegalArgumentException.class, () -> Config.builder(Map.of()).set("nonsense", 1));
    assertThrows(
        IllegalArgumentException.class,
        () -> Config.builder(Map.of()).set("sslmode", "maybe").build());
    assertThrows(
        IllegalArgumentException.class, () -> Config.builder(Map.of()).set("port", "x").build());
    assertFalse(uri.toString().contains("p+w"));
  }
}
