package dev.howdah.pg.jdbc;

import dev.howdah.pg.AddressParts;
import dev.howdah.pg.Config;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

/**
 * Addresses and files of passwords. An address is understood, or refused by the error that says so,
 * as JDBC has it too; what was written into an address or a line of the file is read from there as
 * it was, and nothing that cannot be sent is taken.
 */
public final class Addresses {
  private Addresses() {}

  /** Addresses, and the parts of such. */
  public static List<byte[]> seeds() {
    return List.of(
            "postgresql://u:p@h:1/d?sslmode=disable&x=1",
            "postgres://[::1]:5432,h2/%41?ssl=true",
            "host=/tmp port='5433' user = \\'x",
            "jdbc:howdah://u@h/d?connect_timeout=1.5",
            "jdbc:howdah:d",
            "h:1:d:u:p\\:w",
            "*:*:*:*:x",
            "#",
            "postgresql:///?host=a,b&port=1,2&hostaddr=1.2.3.4,::1",
            "user=%00 password=\0")
        .stream()
        .map(text -> text.getBytes(StandardCharsets.UTF_8))
        .toList();
  }

  /** Reads one address, and makes others of the same text. */
  public static void attack(byte[] input) {
    String text = new String(input, StandardCharsets.UTF_8);
    try {
      AddressParts.check(Config.parse(text), text);
    } catch (IllegalArgumentException e) {
      AddressParts.explained(e);
    }
    try {
      AddressParts.check(HowdahDriver.config(HowdahDriver.PREFIX + text, Map.of()), text);
    } catch (SQLException e) {
      AddressParts.explained(e);
    }
    AddressParts.readBack(text);
  }
}
