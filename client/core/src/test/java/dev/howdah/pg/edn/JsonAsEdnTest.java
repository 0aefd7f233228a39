package dev.howdah.pg.edn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class JsonAsEdnTest {
  private static String edn(String json) {
    byte[] utf8 = json.getBytes(StandardCharsets.UTF_8);
    WireOutput out = new WireOutput(64);
    JsonAsEdn.write(utf8, 0, utf8.length, out);
    return new String(out.toByteArray(), StandardCharsets.UTF_8);
  }

  @Test
  void dataAreTheSame() {
    assertEquals(
        "{\"a\" [1 nil {}], \"b\" {\"c\" true}}",
        edn(" {\"a\": [1 ,null, { }],\"b\":{\"c\":true}} "));
    assertEquals("\"\u00e4\n\\\\/\"", edn("\"\\u00E4\\n\\\\\\/\"").replace("\\n", "\n"));
    assertEquals("-1.5e3", edn("-1.5e3"));
  }

  @Test
  void ofMembersWithOneNameTheLastCounts() {
    assertEquals("{\"a\" 3, \"b\" 2}", edn("{\"a\":1,\"b\":2,\"a\":3}"));
    assertEquals("{\"a\" [{\"b\" {}}]}", edn("{\"a\":1,\"a\":[{\"b\":1,\"b\":{}}]}"));
  }

  @Test
  void namesThatStandTwiceAtEveryDepthCostNoMoreThanTheirBytes() {
    int depth = 100;
    String json = "{\"a\":".repeat(depth) + "1" + ",\"a\":2}".repeat(depth);
    assertTimeoutPreemptively(Duration.ofSeconds(30), () -> assertEquals("{\"a\" 2}", edn(json)));
  }

  @Test
  void depthIsNoMatter() {
    int depth = 200_000;
    assertEquals("[".repeat(depth) + "]".repeat(depth), edn("[".repeat(depth) + "]".repeat(depth)));
  }

  @Test
  void whatIsNoJsonIsRefused() {
    for (String none :
        List.of(
            "",
            " ",
            "[",
            "[1",
            "[1,",
            "[,]",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{1:2}",
            "{\"a\" 1}",
            "\"",
            "\"\\",
            "\"\\\"",
            "\"\\u12\"",
            "\"\\u12x4\"",
            "\"\\u+123\"",
            "nul",
            "nulls",
            "nonsense",
            "truex",
            "#inst",
            "1 2",
            "[1]]",
            "[1}",
            "\u00e4",
            ":a",
            "010",
            "-",
            "+1",
            "1.",
            ".5",
            "1e",
            "1e+",
            "1-2",
            "1.2.3",
            "--1")) {
      assertThrows(PgException.class, () -> edn(none), none);
    }
  }
}
