package dev.howdah.pg;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** What is made of addresses and of the lines of a file of passwords. */
public final class AddressParts {
  private static final int PARTS = 3;

  private AddressParts() {}

  /** Looks at what an address says: all of it can be asked for and sent. */
  public static void check(Config config, String text) {
    config.addresses();
    config.toString();
    for (Setting setting : Setting.values()) {
      if (config.text(setting) != null && config.text(setting).indexOf('\0') >= 0) {
        throw new AssertionError(setting + " has a NUL, from " + text);
      }
    }
  }

  /** A refusal says something. */
  public static void explained(Exception e) {
    if (e.getMessage() == null || e.getMessage().isBlank() || e instanceof NumberFormatException) {
      throw new AssertionError("not an explanation", e);
    }
  }

  /** Writes user, password and database into each form, and reads them. */
  public static void readBack(String text) {
    String sent =
        new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8).replace("\0", "");
    String[] values = sent.split("\n", PARTS);
    if (values.length < PARTS || List.of(values).contains("")) {
      return;
    }
    String uri =
        "postgresql://"
            + encoded(values[0])
            + ":"
            + encoded(values[1])
            + "@h/"
            + encoded(values[2]);
    String pairs =
        "user="
            + quoted(values[0])
            + " password = "
            + quoted(values[1])
            + " dbname="
            + quoted(values[2])
            + " host=h";
    for (String address : List.of(uri, pairs)) {
      Config config = Config.parse(address);
      same(values[0], config.user(), address);
      same(values[1], config.text(Setting.PASSWORD), address);
      same(values[2], config.database(), address);
    }
    fromFile(values);
  }

  private static void fromFile(String[] values) {
    if (values[1].matches("(?s).*[\r\n].*")) {
      return;
    }
    Config config = Config.builder(Map.of()).host("h").user(values[0]).database(values[2]).build();
    String line =
        "h:5432:" + escaped(values[2]) + ":" + escaped(values[0]) + ":" + escaped(values[1]);
    same(
        values[1],
        PasswordFile.find(
            List.of("# none", "other:*:*:*:x", line, "*:*:*:*:later"),
            config,
            config.addresses().get(0)),
        line);
    PasswordFile.find(List.of(values[0], values[1], values[2]), config, config.addresses().get(0));
  }

  private static String encoded(String value) {
    return URLEncoder.encode(value, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private static String quoted(String value) {
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }

  private static String escaped(String value) {
    return value.replace("\\", "\\\\").replace(":", "\\:");
  }

  private static void same(String expected, String actual, String text) {
    if (!expected.equals(actual)) {
      throw new AssertionError(text + ": " + actual + " and not " + expected);
    }
  }
}
