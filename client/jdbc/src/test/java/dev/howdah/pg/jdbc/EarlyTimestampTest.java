package dev.howdah.pg.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Calendar;
import java.util.Date;
import java.util.GregorianCalendar;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a getter has read comes back to the server as it was, also from before the Gregorian
 * calendar, where the fields of java.sql are Julian and the server's are not.
 */
class EarlyTimestampTest {
  /** 1500-03-10 is the Julian 1500-02-29, which the server does not know. */
  private static final List<String> VALUES =
      List.of(
          "0001-01-01",
          "0044-03-15 BC",
          "1500-03-10",
          "1582-10-04",
          "1582-10-15",
          "1890-06-01",
          "2024-02-29",
          "infinity",
          "-infinity");

  private static final List<String> TYPES = List.of("timestamptz", "timestamp", "date", "moment");

  private final TimeZone zone = TimeZone.getDefault();

  @AfterEach
  void restoreZone() {
    TimeZone.setDefault(zone);
  }

  /** Sets a parameter to what a row has in its first column. */
  private interface Way {
    void copy(ResultSet row, PreparedStatement statement) throws SQLException;
  }

  private static GregorianCalendar proleptic() {
    GregorianCalendar calendar = new GregorianCalendar(TimeZone.getTimeZone("America/New_York"));
    calendar.setGregorianChange(new Date(Long.MIN_VALUE));
    return calendar;
  }

  private static Calendar at(Timestamp moment) {
    Calendar calendar = Calendar.getInstance();
    calendar.setTimeInMillis(moment.getTime());
    return calendar;
  }

  private static Map<String, Way> ways() {
    Calendar tokyo = Calendar.getInstance(TimeZone.getTimeZone("Asia/Tokyo"));
    Map<String, Way> ways = new LinkedHashMap<>();
    ways.put("setTimestamp", (row, to) -> to.setTimestamp(1, row.getTimestamp(1)));
    ways.put(
        "setTimestamp in Tokyo",
        (row, to) -> to.setTimestamp(1, row.getTimestamp(1, tokyo), tokyo));
    ways.put(
        "setTimestamp of a proleptic calendar",
        (row, to) -> to.setTimestamp(1, row.getTimestamp(1, proleptic()), proleptic()));
    ways.put("setObject", (row, to) -> to.setObject(1, row.getTimestamp(1)));
    ways.put(
        "setObject as TIMESTAMP",
        (row, to) -> to.setObject(1, row.getTimestamp(1), Types.TIMESTAMP));
    ways.put("setObject as OTHER", (row, to) -> to.setObject(1, row.getTimestamp(1), Types.OTHER));
    ways.put(
        "setObject of a java.util.Date",
        (row, to) -> to.setObject(1, new Date(row.getTimestamp(1).getTime())));
    ways.put("setObject of a Calendar", (row, to) -> to.setObject(1, at(row.getTimestamp(1))));
    return ways;
  }

  private static Map<String, Way> waysOfArrays(String type) {
    Map<String, Way> ways = new LinkedHashMap<>();
    ways.put(
        "setObject of an array",
        (row, to) -> to.setObject(1, new Timestamp[] {row.getTimestamp(1)}));
    ways.put(
        "createArrayOf",
        (row, to) ->
            to.setArray(
                1,
                to.getConnection().createArrayOf(type, new Object[] {null, row.getTimestamp(1)})));
    ways.put(
        "createArrayOf what getArray has",
        (row, to) -> {
          Array read = row.getArray(2);
          to.setArray(1, to.getConnection().createArrayOf(type, (Object[]) read.getArray()));
        });
    ways.put("setArray", (row, to) -> to.setArray(1, row.getArray(2)));
    return ways;
  }

  private static void make(Connection connection, String type) throws SQLException {
    Howdah.execute(
        connection,
        "drop table if exists pg_temp.early",
        "create temp table early (id int primary key, was " + type + ", now " + type + ")");
    for (int i = 0; i < VALUES.size(); i++) {
      Howdah.execute(connection, "insert into early values (" + i + ", '" + VALUES.get(i) + "')");
    }
  }

  /** The values that are not what they were. */
  private static List<String> changed(Connection connection) throws SQLException {
    List<String> changed = new ArrayList<>();
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "select was::text, now::text from early where was::text is distinct from now::text"
                    + " order by id")) {
      while (rows.next()) {
        changed.add(rows.getString(1) + " became " + rows.getString(2));
      }
    }
    Howdah.execute(connection, "update early set now = null");
    return changed;
  }

  private static void copy(Connection connection, Way way, String set, boolean batch)
      throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery("select was, array[was, null], id from early order by id");
        PreparedStatement change =
            connection.prepareStatement("update early set now = " + set + " where id = ?")) {
      while (rows.next()) {
        way.copy(rows, change);
        change.setInt(2, rows.getInt(3));
        if (batch) {
          change.addBatch();
        } else {
          change.executeUpdate();
        }
      }
      change.executeBatch();
    }
  }

  private static void check(List<String> wrong, String what, Connection connection, Copying copying)
      throws SQLException {
    String error = "";
    try {
      copying.run();
    } catch (SQLException e) {
      error = e.getMessage();
    }
    List<String> changed = changed(connection);
    if (!changed.isEmpty()) {
      wrong.add(what + ": " + error + changed);
    }
  }

  private interface Copying {
    void run() throws SQLException;
  }

  @ParameterizedTest
  @ValueSource(strings = {"UTC", "Europe/Berlin", "America/Los_Angeles"})
  void whatWasReadIsWrittenAsItWas(String id) throws SQLException {
    TimeZone.setDefault(TimeZone.getTimeZone(id));
    List<String> wrong = new ArrayList<>();
    try (Connection connection = Howdah.connect()) {
      Howdah.execute(
          connection,
          "drop domain if exists moment",
          "create domain moment as timestamptz",
          "set timezone to 'UTC'");
      for (String type : TYPES) {
        make(connection, type);
        for (Map.Entry<String, Way> way : ways().entrySet()) {
          String what = type + " by " + way.getKey();
          check(wrong, what, connection, () -> copy(connection, way.getValue(), "?", false));
          check(
              wrong,
              what + " in a batch",
              connection,
              () -> copy(connection, way.getValue(), "?", true));
        }
        for (Map.Entry<String, Way> way : waysOfArrays(type).entrySet()) {
          check(
              wrong,
              type + " by " + way.getKey(),
              connection,
              () -> copy(connection, way.getValue(), first(type), false));
        }
        check(wrong, type + " by updateTimestamp", connection, () -> update(connection));
      }
      Howdah.execute(connection, "drop domain moment cascade");
    }
    assertEquals(List.of(), wrong);
  }

  /** The element of an array that is not null. */
  private static String first(String type) {
    return "(select v from unnest(?::" + type + "[]) as a (v) where v is not null)";
  }

  private static void update(Connection connection) throws SQLException {
    try (Statement statement =
            connection.createStatement(
                ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
        ResultSet rows = statement.executeQuery("select id, was, now from early")) {
      while (rows.next()) {
        rows.updateTimestamp(3, rows.getTimestamp(2));
        rows.updateRow();
      }
    }
  }

  @Test
  void aDateOfATimestamptzIsItsBeginning() throws SQLException {
    TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
    try (Connection connection = Howdah.connect();
        PreparedStatement statement =
            connection.prepareStatement("select (?::timestamptz at time zone 'UTC')::text")) {
      statement.setDate(1, new java.sql.Date(Timestamp.valueOf("1500-02-28 00:00:00").getTime()));
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        assertEquals("1500-03-09 00:00:00", rows.getString(1));
      }
    }
  }
}
