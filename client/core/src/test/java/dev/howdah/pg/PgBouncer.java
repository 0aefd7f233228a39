package dev.howdah.pg;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A PgBouncer in transaction mode before the {@link PrivateServer}, which goes to another
 * connection of the server for each transaction as far as it has several. It runs until it is
 * closed.
 *
 * <p>PgBouncer refuses to run as root, so root runs it as the owner of the server.
 */
public final class PgBouncer implements AutoCloseable {
  /** The one of this machine. Debian puts it where the path of an ordinary user does not lead. */
  private static final String INSTALLED =
      Files.isExecutable(Path.of("/usr/sbin/pgbouncer")) ? "/usr/sbin/pgbouncer" : "pgbouncer";

  /** The one that scripts/newer-pgbouncer builds where that one is old. */
  private static final Path BUILT =
      Path.of("../../tests/pgbouncer/pgbouncer").toAbsolutePath().normalize();

  private static final int KEPT = 200;

  private final PrivateServer server;
  private final Path folder;
  private final int port;
  private final Process process;

  private PgBouncer(PrivateServer server, String program, int preparedStatements)
      throws IOException {
    this.server = server;
    this.folder = Files.createTempDirectory("howdah-pgbouncer");
    this.port = PrivateServer.freePort();
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path settings = folder.resolve("pgbouncer.ini");
    Files.writeString(
        settings,
        settings(
            keepsStatements(program) ? "max_prepared_statements = " + preparedStatements : ""));
    List<String> command =
        PrivateServer.isRoot()
            ? List.of(program, "-u", PrivateServer.owner(), settings.toString())
            : List.of(program, settings.toString());
    this.process = new ProcessBuilder(command).redirectErrorStream(true).start();
    awaitStart();
  }

  /**
   * The one of this machine, that keeps no prepared statements: what a client prepared is there
   * while it meets the same connection.
   */
  public static PgBouncer keepingNoStatements(PrivateServer server) {
    return start(server, INSTALLED, 0);
  }

  /**
   * One of the newer ones that could keep prepared statements, and is told not to; see {@link
   * #canKeepStatements}.
   */
  public static PgBouncer newerKeepingNoStatements(PrivateServer server) {
    return start(server, newer(), 0);
  }

  /**
   * One that prepares a client's statements on whichever connection of the server they come to; see
   * {@link #canKeepStatements}.
   */
  public static PgBouncer keepingStatements(PrivateServer server) {
    return start(server, newer(), KEPT);
  }

  /**
   * Whether there is a PgBouncer that can keep prepared statements, 1.21 or newer; otherwise says
   * what the test leaves out.
   */
  public static boolean canKeepStatements(String leftOut) {
    if (newer() == null) {
      System.err.println(
          "SKIPPED: "
              + leftOut
              + ": pgbouncer is older than 1.21 and scripts/newer-pgbouncer built none");
      return false;
    }
    return true;
  }

  private static PgBouncer start(PrivateServer server, String program, int preparedStatements) {
    try {
      return new PgBouncer(server, program, preparedStatements);
    } catch (IOException e) {
      throw new UncheckedIOException(
          "pgbouncer cannot be run; scripts/setup client installs it", e);
    }
  }

  private static String newer() {
    return keepsStatements(INSTALLED)
        ? INSTALLED
        : Files.isExecutable(BUILT) ? BUILT.toString() : null;
  }

  private static boolean keepsStatements(String program) {
    Matcher version =
        Pattern.compile("PgBouncer (\\d+)\\.(\\d+)")
            .matcher(PrivateServer.output(List.of(program, "--version")));
    if (!version.find()) {
      throw new IllegalStateException(program + " does not tell its version");
    }
    int major = Integer.parseInt(version.group(1));
    return major > 1 || major == 1 && Integer.parseInt(version.group(2)) >= 21;
  }

  private String settings(String preparedStatements) {
    return String.join(
        "\n",
        "[databases]",
        "* = host=127.0.0.1 port=" + server.port() + " user=" + PrivateServer.USER,
        "[pgbouncer]",
        "listen_addr = 127.0.0.1",
        "listen_port = " + port,
        "unix_socket_dir =",
        "auth_type = any",
        "pool_mode = transaction",
        "server_round_robin = 1",
        "default_pool_size = 4",
        "min_pool_size = 0",
        "max_client_conn = 200",
        preparedStatements,
        "");
  }

  /**
   * Reads what it says until it has started, and from then on lets a thread read, so that it never
   * waits to be heard.
   */
  private void awaitStart() throws IOException {
    BufferedReader output = process.inputReader();
    StringBuilder said = new StringBuilder();
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      said.append(line).append('\n');
      if (line.contains("process up")) {
        Thread reader = new Thread(() -> output.lines().forEach(more -> {}), "what pgbouncer says");
        reader.setDaemon(true);
        reader.start();
        Runtime.getRuntime().addShutdownHook(new Thread(process.toHandle()::destroy));
        return;
      }
    }
    throw new IOException("pgbouncer ended: " + said);
  }

  /** The TCP port on 127.0.0.1. */
  public int port() {
    return port;
  }

  /** A configuration that leads to the server through this, and reads no environment. */
  public Config.Builder config() {
    return Config.builder(Map.of())
        .host("127.0.0.1")
        .port(port)
        .user(PrivateServer.USER)
        .database("postgres");
  }

  /**
   * Has it open so many connections to the server, over which it then spreads transactions in turn.
   */
  public void spread(int connections) {
    Connection[] together = new Connection[connections];
    for (int i = 0; i < connections; i++) {
      together[i] = Connection.open(config().build());
      together[i].begin(TransactionOptions.DEFAULT);
    }
    for (Connection each : together) {
      each.rollback();
      each.close();
    }
  }

  @Override
  public void close() {
    // Process.destroy would close what the thread reads.
    process.toHandle().destroy();
    try {
      process.waitFor();
      Files.delete(folder.resolve("pgbouncer.ini"));
      Files.delete(folder);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
