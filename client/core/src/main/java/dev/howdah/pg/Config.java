package dev.howdah.pg;

import dev.howdah.pg.types.TypeOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Where and how to connect. What is not set comes from the PG* variables of the environment and
 * then from the defaults, as with libpq. Immutable.
 */
public final class Config {
  private static final List<String> SSL_MODES =
      List.of("disable", "allow", "prefer", "require", "verify-ca", "verify-full");
  private static final List<String> TARGETS =
      List.of("any", "read-write", "read-only", "primary", "standby", "prefer-standby");

  /** libpq's default is the folder its packager chose; these are the two in use. */
  static final List<String> SOCKET_FOLDERS = List.of("/var/run/postgresql", "/tmp");

  private final Map<Setting, String> values;
  private final Map<String, String> environment;
  private final TypeOptions types;
  private final Consumer<ServerMessage> notices;
  private final long latest;

  private Config(Builder builder) {
    this.latest = builder.latest;
    this.values = new EnumMap<>(builder.values);
    this.environment = builder.environment;
    this.types = builder.types;
    this.notices = builder.notices;
    check();
  }

  private void check() {
    LibpqParameters.check(environment);
    oneOf(Setting.TARGET_SESSION_ATTRS, TARGETS);
    oneOf(Setting.CHANNEL_BINDING, List.of("disable", "prefer", "require"));
    if (text(Setting.SSLMODE) != null) {
      oneOf(Setting.SSLMODE, SSL_MODES);
    }
    if (trustsSystem() && !sslMode().equals("verify-full")) {
      // Anyone may have a certificate of these roots, so without its name checked it proves
      // nothing.
      throw new IllegalArgumentException(
          "sslmode=" + sslMode() + " may not be used with sslrootcert=system; use verify-full");
    }
    if ((text(Setting.SSLCERT) == null) != (text(Setting.SSLKEY) == null)) {
      throw new IllegalArgumentException(
          "sslcert and sslkey, a client's certificate and the key of it, belong together; set both"
              + " or none");
    }
    addresses();
    connectTimeout();
    queryTimeout();
    statementCacheSize();
    statementCacheBytes();
    maxMessageBytes();
    maxScramIterations();
  }

  private void oneOf(Setting setting, List<String> allowed) {
    if (!allowed.contains(text(setting))) {
      throw new IllegalArgumentException(
          setting.key + " must be one of " + allowed + ", not " + text(setting));
    }
  }

  /** A builder that reads the environment for what it is not told. */
  public static Builder builder() {
    return new Builder(System.getenv());
  }

  /** A builder that reads the given variables instead of the environment. */
  public static Builder builder(Map<String, String> environment) {
    return new Builder(environment);
  }

  /** A URI (postgresql://user@host/database?setting=value) or libpq's "name=value name=value". */
  public static Config parse(String source) {
    return ConnectionString.parse(source, builder()).build();
  }

  /** A builder with everything that is set here. */
  public Builder toBuilder() {
    Builder builder = new Builder(environment);
    builder.values.putAll(values);
    builder.types = types;
    builder.notices = notices;
    return builder;
  }

  /**
   * The same, for a connection that must stand by a {@link System#nanoTime} value, however long
   * connect_timeout is.
   */
  Config openedBy(long latest) {
    Builder builder = toBuilder();
    builder.latest = latest;
    return builder.build();
  }

  /** When a connection must stand, or {@link Long#MAX_VALUE}. */
  long latest() {
    return latest;
  }

  String text(Setting setting) {
    String value = values.get(setting);
    if (value == null && setting.variable != null) {
      value = environment.get(setting.variable);
    }
    return value == null || value.isEmpty() ? setting.standard : value;
  }

  /**
   * How TLS is used, as it is set or follows from other settings; null if that depends on where the
   * server is.
   */
  String sslMode() {
    String mode = text(Setting.SSLMODE);
    return mode == null && trustsSystem() ? "verify-full" : mode;
  }

  /** Whether the roots to trust are those that came with the JDK, whoever they have certified. */
  boolean trustsSystem() {
    return "system".equals(text(Setting.SSLROOTCERT));
  }

  String environment(String name) {
    return environment.get(name);
  }

  private int number(Setting setting, int least) {
    try {
      int value = Integer.parseInt(text(setting).trim());
      if (value >= least) {
        return value;
      }
    } catch (NumberFormatException ignored) {
      // Reported below with everything that is not such a number.
    }
    throw new IllegalArgumentException(
        setting.key + " must be a whole number from " + least + " on, not " + text(setting));
  }

  private Duration seconds(Setting setting) {
    try {
      double seconds = Double.parseDouble(text(setting).trim());
      if (seconds >= 0 && seconds < 1e9) {
        return Duration.ofNanos((long) (seconds * 1e9));
      }
    } catch (NumberFormatException ignored) {
      // Reported below.
    }
    throw new IllegalArgumentException(
        setting.key + " must be a number of seconds, not " + text(setting));
  }

  /**
   * A place to try.
   *
   * @param host a host name, an address, or the folder of a UNIX socket
   * @param number the address to connect to instead of asking for that of the host, or null
   * @param port the TCP port
   */
  record Address(String host, String number, int port) {
    Address(String host, int port) {
      this(host, null, port);
    }

    boolean isUnix() {
      return number == null && (host.startsWith("/") || host.startsWith("@"));
    }
  }

  List<Address> addresses() {
    String hosts = text(Setting.HOST);
    String numbers = text(Setting.HOSTADDR);
    String[] names =
        (hosts != null ? hosts : numbers != null ? numbers : defaultHost()).split(",", -1);
    String[] direct = numbers == null ? new String[names.length] : numbers.split(",", -1);
    String[] ports = text(Setting.PORT).split(",", -1);
    if (ports.length != 1 && ports.length != names.length) {
      throw new IllegalArgumentException(
          "port lists " + ports.length + " ports for " + names.length + " hosts");
    }
    if (direct.length != names.length) {
      throw new IllegalArgumentException(
          "hostaddr lists " + direct.length + " addresses for " + names.length + " hosts");
    }
    List<Address> addresses = new ArrayList<>();
    for (int i = 0; i < names.length; i++) {
      String number = number(direct[i]);
      String host = !names[i].isBlank() ? names[i].trim() : number != null ? number : defaultHost();
      addresses.add(new Address(host, number, port(ports[ports.length == 1 ? 0 : i].trim())));
    }
    return addresses;
  }

  /** An address in numbers; null if there is none. */
  private static String number(String address) {
    if (address == null || address.isBlank()) {
      return null;
    }
    String number = address.trim();
    if (number.indexOf(':') < 0 && !number.matches("\\d+\\.\\d+\\.\\d+\\.\\d+")) {
      throw new IllegalArgumentException(
          "hostaddr must be an address in numbers, not " + number + "; host takes a name");
    }
    return number;
  }

  private static int port(String text) {
    try {
      int port = text.isEmpty() ? 5432 : Integer.parseInt(text);
      if (port >= 1 && port <= 65_535) {
        return port;
      }
    } catch (NumberFormatException ignored) {
      // Reported below.
    }
    throw new IllegalArgumentException("port must be a number from 1 to 65535, not " + text);
  }

  private static String defaultHost() {
    for (String folder : SOCKET_FOLDERS) {
      if (Files.exists(Path.of(folder, ".s.PGSQL.5432"))) {
        return folder;
      }
    }
    return "localhost";
  }

  String user() {
    String user = text(Setting.USER);
    return user != null ? user : System.getProperty("user.name");
  }

  String database() {
    String database = text(Setting.DATABASE);
    return database != null ? database : user();
  }

  String applicationName() {
    String name = text(Setting.APPLICATION_NAME);
    return name != null ? name : text(Setting.FALLBACK_APPLICATION_NAME);
  }

  Duration connectTimeout() {
    return seconds(Setting.CONNECT_TIMEOUT);
  }

  Duration queryTimeout() {
    return seconds(Setting.QUERY_TIMEOUT);
  }

  Duration cancelTimeout() {
    return seconds(Setting.CANCEL_TIMEOUT);
  }

  int statementCacheSize() {
    return number(Setting.STATEMENT_CACHE_SIZE, 0);
  }

  int statementCacheBytes() {
    return number(Setting.STATEMENT_CACHE_BYTES, 0);
  }

  int maxMessageBytes() {
    return number(Setting.MAX_MESSAGE_BYTES, 1024);
  }

  int maxScramIterations() {
    return number(Setting.MAX_SCRAM_ITERATIONS, 4096);
  }

  boolean allowCleartextPassword() {
    return text(Setting.ALLOW_CLEARTEXT_PASSWORD).toLowerCase(Locale.ROOT).matches("true|on|yes|1");
  }

  TypeOptions types() {
    return types;
  }

  Consumer<ServerMessage> notices() {
    return notices;
  }

  /** Where it connects, without the password. */
  @Override
  public String toString() {
    String host =
        text(Setting.HOST) != null
            ? text(Setting.HOST)
            : text(Setting.HOSTADDR) != null ? text(Setting.HOSTADDR) : defaultHost();
    return user() + "@" + host + ":" + text(Setting.PORT) + "/" + database();
  }

  /** Collects settings. */
  public static final class Builder {
    private final Map<Setting, String> values = new EnumMap<>(Setting.class);
    private final Map<String, String> environment;
    private TypeOptions types = TypeOptions.NONE;
    private Consumer<ServerMessage> notices = notice -> {};
    private long latest = Long.MAX_VALUE;

    private Builder(Map<String, String> environment) {
      this.environment = Map.copyOf(environment);
    }

    private Builder set(Setting setting, Object value) {
      if (value == null) {
        values.remove(setting);
        return this;
      }
      String text = value.toString();
      if (text.indexOf('\0') >= 0) {
        // What follows it would be another parameter to the server, and another file to the system.
        throw new IllegalArgumentException(setting.key + " cannot have a zero character in it");
      }
      values.put(setting, text);
      return this;
    }

    /**
     * Sets any setting by the name it has in the table of the documentation. Parameters of libpq
     * that change nothing are accepted too; an unknown one is an error.
     */
    public Builder set(String name, Object value) {
      Setting setting = Setting.find(name);
      if (setting == null && value != null && LibpqParameters.accepts(name, value.toString())) {
        return this;
      }
      if (setting == null) {
        throw new IllegalArgumentException("there is no setting " + name);
      }
      return set(setting, value);
    }

    /** A host, an address, the folder of a UNIX socket, or several of them with commas between. */
    public Builder host(String host) {
      return set(Setting.HOST, host);
    }

    /** The port. */
    public Builder port(int port) {
      return set(Setting.PORT, port);
    }

    /** The role. */
    public Builder user(String user) {
      return set(Setting.USER, user);
    }

    /** The password. */
    public Builder password(String password) {
      return set(Setting.PASSWORD, password);
    }

    /** The database. */
    public Builder database(String database) {
      return set(Setting.DATABASE, database);
    }

    /** How types are presented. */
    public Builder types(TypeOptions options) {
      types = options;
      return this;
    }

    /** Receives the server's notices and warnings, on the thread that reads them. */
    public Builder notices(Consumer<ServerMessage> handler) {
      notices = handler;
      return this;
    }

    /** The configuration; a setting with an impossible value is an IllegalArgumentException. */
    public Config build() {
      return new Config(this);
    }
  }
}
