package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.howdah.pg.PrivateServer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.function.Executable;

/** Connections to the tests' server, and the questions that tests ask most. */
final class Howdah {
  private Howdah() {}

  static String url() {
    return "jdbc:howdah://tester@127.0.0.1:" + PrivateServer.shared().port() + "/postgres";
  }

  static Connection connect() throws SQLException {
    return DriverManager.getConnection(url());
  }

  static dev.howdah.pg.Connection core(Connection connection) throws SQLException {
    return connection.unwrap(dev.howdah.pg.Connection.class);
  }

  /** The first value of a query. */
  static Object value(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      rows.next();
      return rows.getObject(1);
    }
  }

  static void execute(Connection connection, String... sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      for (String one : sql) {
        statement.execute(one);
      }
    }
  }

  /** The SQLSTATE of the error that the action must end with. */
  static String state(Executable action) {
    return assertThrows(SQLException.class, action).getSQLState();
  }
}
