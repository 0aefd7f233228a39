package dev.howdah.pg.jdbc;

import dev.howdah.pg.Config;
import dev.howdah.pg.PgException;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.logging.Logger;

/**
 * The driver for addresses that begin with {@code jdbc:howdah:}. The rest is that of a URI of the
 * client: {@code jdbc:howdah://user@host:5432/database?sslmode=verify-full}. What is given as a
 * property counts more than what the address says; a setting that does not exist is an error.
 */
public final class HowdahDriver implements Driver {
  static final String PREFIX = "jdbc:howdah:";
  static final int MAJOR = 0;
  static final int MINOR = 1;

  static {
    try {
      DriverManager.registerDriver(new HowdahDriver());
    } catch (SQLException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** The driver, as ServiceLoader makes it. */
  public HowdahDriver() {
    // Nothing to set up.
  }

  /** The configuration that an address and properties make. */
  static Config config(String url, Map<String, String> properties) throws SQLException {
    String rest = url.substring(PREFIX.length());
    try {
      Config.Builder builder =
          Config.parse("postgresql:" + (rest.startsWith("//") ? rest : "///" + rest)).toBuilder();
      properties.forEach(builder::set);
      return builder.build();
    } catch (IllegalArgumentException e) {
      throw SqlErrors.of(
          "the address " + PREFIX + " or its properties are wrong: " + e.getMessage(), "08001", e);
    }
  }

  static Connection open(Config config) throws SQLException {
    try {
      return new JdbcConnection(config);
    } catch (PgException e) {
      throw SqlErrors.of(e);
    } catch (IllegalArgumentException e) {
      throw SqlErrors.of(e.getMessage(), "08001", e);
    }
  }

  @Override
  public Connection connect(String url, Properties info) throws SQLException {
    if (!acceptsURL(url)) {
      return null;
    }
    Map<String, String> properties = new TreeMap<>();
    if (info != null) {
      info.stringPropertyNames().forEach(name -> properties.put(name, info.getProperty(name)));
    }
    int limit = DriverManager.getLoginTimeout();
    if (limit > 0) {
      properties.putIfAbsent("connect_timeout", Integer.toString(limit));
    }
    return open(config(url, properties));
  }

  @Override
  public boolean acceptsURL(String url) {
    return url != null && url.startsWith(PREFIX);
  }

  @Override
  public DriverPropertyInfo[] getPropertyInfo(String url, Properties info) {
    DriverPropertyInfo user =
        new DriverPropertyInfo("user", info == null ? null : info.getProperty("user"));
    DriverPropertyInfo password = new DriverPropertyInfo("password", null);
    user.description = "The role; every other setting of the client can be given too.";
    return new DriverPropertyInfo[] {user, password};
  }

  @Override
  public int getMajorVersion() {
    return MAJOR;
  }

  @Override
  public int getMinorVersion() {
    return MINOR;
  }

  /** Not in the sense of the standard's tests, which want Blob and escapes. */
  @Override
  public boolean jdbcCompliant() {
    return false;
  }

  @Override
  public Logger getParentLogger() throws SQLFeatureNotSupportedException {
    throw SqlErrors.unsupported(
        "a logger", "this driver logs nothing; see the exceptions and warnings");
  }
}
