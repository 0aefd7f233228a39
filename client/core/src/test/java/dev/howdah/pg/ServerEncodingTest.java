package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Text is UTF-8 on the wire whatever the database keeps it in. */
class ServerEncodingTest {
  private static Connection database(String encoding) {
    String name = "in_" + encoding.toLowerCase(java.util.Locale.ROOT);
    try (Connection connection = PrivateServer.connect()) {
      connection.query("drop database if exists " + name);
      connection.query(
          "create database " + name + " encoding '" + encoding + "' locale 'C' template template0");
    }
    return Connection.open(PrivateServer.shared().config().database(name).build());
  }

  @ParameterizedTest
  @CsvSource({"UTF8,äé😀", "LATIN1,äéß", "LATIN9,äé€", "WIN1251,жук", "EUC_JP,日本語"})
  void textComesBackFromEveryEncoding(String encoding, String text) {
    try (Connection connection = database(encoding)) {
      connection.script("create table \"" + text + "\" (t text)");
      for (boolean binary : List.of(true, false)) {
        Options options = Options.DEFAULT.binary(binary);
        connection.query(options, "insert into \"" + text + "\" values ($1)", text);
        Result rows =
            connection.query(
                options, "select t as \"" + text + "\", octet_length(t) from \"" + text + "\"");
        assertEquals(text, rows.get(0).getString(text));
        String json = rows.get(0).toJson();
        assertTrue(json.startsWith("{\"" + text + "\":\"" + text + "\","), json);
      }
    }
  }

  @Test
  void whatTheEncodingLacksIsTheServersError() {
    try (Connection connection = database("LATIN1")) {
      assertEquals(
          "22P05",
          assertThrows(ServerException.class, () -> connection.query("select $1::text", "日"))
              .sqlState());
      assertEquals(1, connection.query("select 1").size());
    }
  }

  @Test
  void bytesOfNoEncodingAreReadAsBytes() {
    try (Connection connection = database("SQL_ASCII")) {
      String odd = "convert_from('\\xe4ff', 'SQL_ASCII')";
      assertEquals(
          "22021",
          assertThrows(ServerException.class, () -> connection.query("select " + odd)).sqlState());
      assertArrayEquals(
          new byte[] {(byte) 0xe4, (byte) 0xff},
          connection.query("select convert_to(" + odd + ", 'SQL_ASCII')").get(0).getBytes(0));
    }
  }
}
