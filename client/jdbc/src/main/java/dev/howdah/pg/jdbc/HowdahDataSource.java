package dev.howdah.pg.jdbc;

import dev.howdah.pg.Config;
import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Map;
import java.util.TreeMap;
import java.util.logging.Logger;
import javax.sql.DataSource;

/**
 * A source of connections, configured by setters as frameworks like it, or with a {@link Config}.
 * Every connection is a new one: put a pool in front.
 */
public final class HowdahDataSource implements DataSource {
  private final Map<String, String> settings = new TreeMap<>();
  private final Config given;
  private String url = HowdahDriver.PREFIX;
  private PrintWriter log;

  /**
   * A source to be configured by setters; what is not set comes from the environment and the
   * defaults.
   */
  public HowdahDataSource() {
    this.given = null;
  }

  /** A source with the client's own configuration, which setters change no more. */
  public HowdahDataSource(Config config) {
    this.given = config;
  }

  @Override
  public Connection getConnection() throws SQLException {
    return HowdahDriver.open(config());
  }

  @Override
  public Connection getConnection(String user, String password) throws SQLException {
    return HowdahDriver.open(config().toBuilder().user(user).password(password).build());
  }

  private synchronized Config config() throws SQLException {
    return given != null ? given : HowdahDriver.config(url, settings);
  }

  private synchronized void set(String name, Object value) {
    if (given != null) {
      throw new IllegalStateException("this source was made with a Config; set " + name + " there");
    }
    if (value == null) {
      settings.remove(name);
    } else {
      settings.put(name, value.toString());
    }
  }

  /**
   * Sets anything that the client's table of settings names, or its property of another name here.
   */
  public void setSetting(String name, String value) {
    set(name, value);
  }

  /** The address, {@code jdbc:howdah:} and the rest of a URI; the other setters count more. */
  public synchronized void setUrl(String address) throws SQLException {
    if (!new HowdahDriver().acceptsURL(address)) {
      throw SqlErrors.error("08001", "the address must begin with " + HowdahDriver.PREFIX);
    }
    url = address;
  }

  /** The address. */
  public synchronized String getUrl() {
    return url;
  }

  /** The address, by the name that some frameworks use. */
  public void setURL(String address) throws SQLException {
    setUrl(address);
  }

  /** A host, an address, the folder of a UNIX socket, or several with commas between. */
  public void setServerName(String host) {
    set("host", host);
  }

  /** The port. */
  public void setPortNumber(int port) {
    set("port", port == 0 ? null : port);
  }

  /** The database. */
  public void setDatabaseName(String database) {
    set("dbname", database);
  }

  /** The role. */
  public void setUser(String user) {
    set("user", user);
  }

  /** The password. */
  public void setPassword(String password) {
    set("password", password);
  }

  /** The name that pg_stat_activity shows. */
  public void setApplicationName(String name) {
    set("application_name", name);
  }

  /** The TLS mode, as libpq names it. */
  public void setSslMode(String mode) {
    set("sslmode", mode);
  }

  /** The file of root certificates. */
  public void setSslRootCert(String file) {
    set("sslrootcert", file);
  }

  /** Options for the server, such as {@code -c search_path=app}. */
  public void setOptions(String options) {
    set("options", options);
  }

  /** Seconds for connecting; 0 for no limit. */
  public void setConnectTimeout(int seconds) {
    set("connect_timeout", seconds);
  }

  /** Which kind of server is wanted. */
  public void setTargetSessionAttrs(String kind) {
    set("target_session_attrs", kind);
  }

  /** How many prepared statements a connection keeps. */
  public void setStatementCacheSize(int statements) {
    set("statement_cache_size", statements);
  }

  @Override
  public void setLoginTimeout(int seconds) {
    set("connect_timeout", seconds == 0 ? null : seconds);
  }

  @Override
  public synchronized int getLoginTimeout() {
    return Integer.parseInt(settings.getOrDefault("connect_timeout", "0"));
  }

  @Override
  public synchronized PrintWriter getLogWriter() {
    return log;
  }

  /** Kept for those who ask; nothing is logged. */
  @Override
  public synchronized void setLogWriter(PrintWriter writer) {
    log = writer;
  }

  @Override
  public Logger getParentLogger() throws SQLFeatureNotSupportedException {
    throw SqlErrors.unsupported(
        "a logger", "this driver logs nothing; see the exceptions and warnings");
  }

  @Override
  public <T> T unwrap(Class<T> wanted) throws SQLException {
    return wanted == Config.class ? wanted.cast(config()) : SqlErrors.unwrap(wanted, this);
  }

  @Override
  public boolean isWrapperFor(Class<?> wanted) {
    return wanted == Config.class || wanted.isInstance(this);
  }
}
