package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every setting is read wherever it may stand, and stands in the documentation. */
class SettingTest {
  /** A value of each that is neither its default nor impossible. */
  private static final Map<Setting, String> VALUES =
      Map.ofEntries(
          Map.entry(Setting.HOST, "/a folder"),
          Map.entry(Setting.HOSTADDR, "192.0.2.1"),
          Map.entry(Setting.PORT, "6543"),
          Map.entry(Setting.USER, "us@er"),
          Map.entry(Setting.PASSWORD, "p&ss= w%rd"),
          Map.entry(Setting.DATABASE, "d/b"),
          Map.entry(Setting.PASSFILE, "/a/file"),
          Map.entry(Setting.OPTIONS, "-c work_mem=64kB"),
          Map.entry(Setting.APPLICATION_NAME, "it's"),
          Map.entry(Setting.FALLBACK_APPLICATION_NAME, "tool"),
          Map.entry(Setting.CONNECT_TIMEOUT, "3"),
          Map.entry(Setting.TARGET_SESSION_ATTRS, "standby"),
          Map.entry(Setting.SSLMODE, "require"),
          Map.entry(Setting.SSLROOTCERT, "/r.crt"),
          Map.entry(Setting.SSLCERT, "/c.crt"),
          Map.entry(Setting.SSLKEY, "/c.key"),
          Map.entry(Setting.CHANNEL_BINDING, "disable"),
          Map.entry(Setting.QUERY_TIMEOUT, "1.5"),
          Map.entry(Setting.CANCEL_TIMEOUT, "2"),
          Map.entry(Setting.STATEMENT_CACHE_SIZE, "7"),
          Map.entry(Setting.STATEMENT_CACHE_BYTES, "77"),
          Map.entry(Setting.MAX_MESSAGE_BYTES, "5000"),
          Map.entry(Setting.MAX_SCRAM_ITERATIONS, "9999"),
          Map.entry(Setting.ALLOW_CLEARTEXT_PASSWORD, "true"));

  /** A client's certificate and its key are given together. */
  private static final Map<Setting, Setting> PARTNERS =
      Map.of(Setting.SSLCERT, Setting.SSLKEY, Setting.SSLKEY, Setting.SSLCERT);

  private static Config.Builder nothing() {
    return Config.builder(Map.of());
  }

  private static void assertRead(Setting setting, Config.Builder config) {
    Setting partner = PARTNERS.get(setting);
    Config built =
        (partner == null ? config : config.set(partner.key, VALUES.get(partner))).build();
    assertEquals(VALUES.get(setting), built.text(setting));
  }

  @ParameterizedTest
  @EnumSource
  void isReadWhereverItStands(Setting setting) {
    String value = VALUES.get(setting);
    assertNotEquals(setting.standard, value);
    assertRead(setting, nothing().set(setting.key, value));
    assertRead(setting, nothing().set(setting.key.toUpperCase().replace('_', '-'), value));
    String encoded = URLEncoder.encode(value, StandardCharsets.UTF_8).replace("+", "%20");
    for (String scheme : List.of("postgresql", "postgres")) {
      assertRead(
          setting,
          ConnectionString.parse(scheme + "://?" + setting.key + "=" + encoded, nothing()));
    }
    assertRead(
        setting,
        ConnectionString.parse(setting.key + " = '" + value.replace("'", "\\'") + "'", nothing()));
    if (setting.variable != null) {
      Map<String, String> environment = new HashMap<>(Map.of(setting.variable, value));
      assertRead(setting, Config.builder(environment));
      environment.put(setting.variable, "what is set goes before it");
      assertRead(setting, Config.builder(environment).set(setting.key, value));
    }
  }

  @ParameterizedTest
  @EnumSource
  void hasNoZeroCharacter(Setting setting) {
    String value = VALUES.get(setting) + "\0";
    assertThrows(IllegalArgumentException.class, () -> nothing().set(setting.key, value));
    assertThrows(
        IllegalArgumentException.class,
        () -> ConnectionString.parse("postgresql://?" + setting.key + "=x%00", nothing()));
  }

  @ParameterizedTest
  @EnumSource
  void standsInTheDocumentation(Setting setting) throws IOException {
    String name =
        "\\b"
            + setting.key
            + "\\b.*"
            + (setting.variable == null ? "" : "\\b" + setting.variable + "\\b.*");
    assertTrue(
        Files.readString(Path.of("../../docs/client-reference.md"))
            .lines()
            .anyMatch(line -> line.matches("\\|.*" + name)),
        setting.key);
  }
}
