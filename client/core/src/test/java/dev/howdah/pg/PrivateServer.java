package dev.howdah.pg;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A PostgreSQL of the tests' own: made in a temporary folder when first asked for, gone with the
 * process. PG_CONFIG names which, otherwise it is that of the pg_config on the path.
 *
 * <p>PostgreSQL refuses to run as root, so root runs it as the user postgres or nobody.
 */
public final class PrivateServer {
  /** The superuser's name. */
  public static final String USER = "tester";

  private static PrivateServer shared;

  private final Path folder;
  private final int port;

  /** The port of the standby; 0 before there is one. */
  private int standby;

  private PrivateServer(Path folder, int port) {
    this.folder = folder;
    this.port = port;
  }

  /** The server that all tests of a process share. */
  public static synchronized PrivateServer shared() {
    if (shared == null) {
      shared = start();
      Runtime.getRuntime().addShutdownHook(new Thread(shared::stop));
    }
    return shared;
  }

  private static PrivateServer start() {
    try {
      Path folder = Files.createTempDirectory("howdah-pg");
      Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
      PrivateServer server = new PrivateServer(folder, freePort());
      if (isRoot()) {
        server.run(List.of("chown", owner(), folder.toString()));
      }
      server.asOwner(
          List.of(
              bin("initdb"),
              "-D",
              server.data(),
              "-U",
              USER,
              "-A",
              "trust",
              "-E",
              "UTF8",
              "--locale=C",
              "--no-sync"));
      server.startIn(server.data(), server.port);
      return server;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void startIn(String data, int port) {
    asOwner(
        List.of(
            bin("pg_ctl"),
            "-D",
            data,
            "-w",
            "-l",
            data + ".log",
            "-o",
            "-p "
                + port
                + " -k "
                + folder
                + " -c listen_addresses=127.0.0.1 -c fsync=off -c TimeZone=UTC -c"
                + " max_connections=60 -c max_prepared_transactions=5 -c"
                + " password_encryption=scram-sha-256",
            "start"));
  }

  /** The TCP port of a standby of this server, which is made when it is first asked for. */
  public synchronized int standby() {
    if (standby == 0) {
      asOwner(
          List.of(
              bin("pg_basebackup"),
              "-D",
              standbyData(),
              "-h",
              folder.toString(),
              "-p",
              Integer.toString(port),
              "-U",
              USER,
              "-R",
              "-X",
              "stream",
              "-c",
              "fast",
              "--no-sync"));
      try {
        int free = freePort();
        startIn(standbyData(), free);
        standby = free;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return standby;
  }

  private String standbyData() {
    return folder.resolve("standby").toString();
  }

  static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  static boolean isRoot() {
    return System.getProperty("user.name").equals("root");
  }

  static String owner() {
    try {
      boolean postgres =
          Files.readAllLines(Path.of("/etc/passwd")).stream()
              .anyMatch(line -> line.startsWith("postgres:"));
      return postgres ? "postgres" : "nobody";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String bin(String program) {
    String named = System.getenv("PG_CONFIG");
    String config = named == null || named.isEmpty() ? "pg_config" : named;
    return Path.of(output(List.of(config, "--bindir")).trim(), program).toString();
  }

  static String output(List<String> command) {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      String output = new String(process.getInputStream().readAllBytes());
      if (process.waitFor() != 0) {
        throw new IllegalStateException(command + " failed: " + output);
      }
      return output;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private void asOwner(List<String> command) {
    List<String> whole = new ArrayList<>();
    if (isRoot()) {
      whole.addAll(List.of("runuser", "-u", owner(), "--"));
    }
    whole.addAll(command);
    run(whole);
  }

  /** The server would keep a pipe open, so the output goes to a file. */
  private void run(List<String> command) {
    try {
      Path log = folder.resolve("commands");
      Process process =
          new ProcessBuilder(command)
              .directory(folder.toFile())
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
              .start();
      if (!process.waitFor(60, TimeUnit.SECONDS) || process.exitValue() != 0) {
        throw new IllegalStateException(command + " failed: " + Files.readString(log));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private void stop() {
    if (standby != 0) {
      asOwner(List.of(bin("pg_ctl"), "-D", standbyData(), "-m", "immediate", "stop"));
    }
    asOwner(List.of(bin("pg_ctl"), "-D", data(), "-m", "immediate", "stop"));
    try (Stream<Path> files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String data() {
    return folder.resolve("data").toString();
  }

  /** Puts lines in front of pg_hba.conf and has the server read it. */
  public void allow(String lines) {
    Path rules = Path.of(data(), "pg_hba.conf");
    try {
      Files.writeString(rules, lines + "\n" + Files.readString(rules));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    reload();
  }

  /** Has the server read its files again. */
  public void reload() {
    asOwner(List.of(bin("pg_ctl"), "-D", data(), "reload"));
  }

  /** Writes a file into the data folder that the server may read and nobody else. */
  public void install(String name, byte[] content) {
    try {
      Path file = Path.of(data(), name);
      Files.write(file, content);
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
      if (isRoot()) {
        run(List.of("chown", owner(), file.toString()));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The folder of the UNIX socket. */
  public String socketFolder() {
    return folder.toString();
  }

  /** The TCP port on 127.0.0.1. */
  public int port() {
    return port;
  }

  /** A configuration that reads no environment. */
  public Config.Builder config() {
    return Config.builder(Map.of()).host("127.0.0.1").port(port).user(USER).database("postgres");
  }

  /** A connection over TCP. */
  public static Connection connect() {
    return Connection.open(shared().config().build());
  }

  /** The address for pgjdbc. */
  public String jdbcUrl() {
    return "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=" + USER;
  }
}
