package dev.howdah.pg.frameworks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.howdah.pg.PrivateServer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;

/** Runs a framework's session over pgjdbc and over this driver, and wants both to tell the same. */
final class Agreement {
  private Agreement() {}

  /** What a framework does with a pool of connections to an empty database. */
  interface Session {
    void run(HikariDataSource source, Told told) throws Exception;
  }

  /** Both sides meet the same name of a database, because frameworks show it. */
  static void of(String database, Session session) throws Exception {
    Told pgjdbc =
        told(
            database,
            "jdbc:postgresql://127.0.0.1:"
                + PrivateServer.shared().port()
                + "/"
                + database
                // So that it calls procedures at all.
                + "?user=tester&escapeSyntaxCallMode=callIfNoReturn",
            session);
    Told howdah =
        told(
            database,
            "jdbc:howdah://tester@127.0.0.1:" + PrivateServer.shared().port() + "/" + database,
            session);
    assertFalse(pgjdbc.isEmpty(), "a session that tells nothing compares nothing");
    assertEquals(pgjdbc.toString(), howdah.toString());
  }

  private static Told told(String database, String url, Session session) throws Exception {
    recreate(database);
    Told told = new Told();
    try (HikariDataSource source = pool(url)) {
      session.run(source, told);
    }
    return told;
  }

  static void recreate(String database) throws SQLException {
    try (Connection connection = DriverManager.getConnection(PrivateServer.shared().jdbcUrl());
        Statement statement = connection.createStatement()) {
      statement.execute("drop database if exists " + database + " with (force)");
      statement.execute("create database " + database);
    }
  }

  static HikariDataSource pool(String url) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url);
    config.setMaximumPoolSize(3);
    return new HikariDataSource(config);
  }
}
