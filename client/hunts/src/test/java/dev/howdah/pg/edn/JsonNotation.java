package dev.howdah.pg.edn;

import clojure.java.api.Clojure;
import clojure.lang.IFn;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.howdah.pg.PgException;
import dev.howdah.pg.json.Json;
import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * JSON as EDN. What Jackson reads as JSON, Clojure's reader reads from what we write of it as the
 * same data; what is none is refused or written as something. Any text, written as a string of JSON
 * or of EDN, is read back.
 */
public final class JsonNotation {
  /** It reads UTF-8: of characters it takes some for digits of an escape that are none. */
  private static final ObjectMapper JACKSON =
      new ObjectMapper(
          JsonFactory.builder().disable(JsonFactory.Feature.CHARSET_DETECTION).build());

  private static final IFn READ = Clojure.var("clojure.edn", "read-string");

  static {
    JACKSON.enable(
        DeserializationFeature.FAIL_ON_TRAILING_TOKENS,
        DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);
    JACKSON
        .getFactory()
        .setStreamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(100_000).build());
    Clojure.var("clojure.core", "require").invoke(Clojure.read("clojure.edn"));
  }

  private JsonNotation() {}

  /** JSON of every kind. */
  public static List<byte[]> seeds() {
    return List.of(
            "{\"a\": 1, \"b\": [1, null, \"x\\\"y\\u00e4\\n\"], \"c\": {\"d\": true}}",
            "null",
            " -1.5e3 ",
            "\"x\"",
            "[]",
            "{}",
            "[1,2 , {}]",
            "{\"a\":1,\"a\":2}",
            "[-0.0, -0e3, 0]",
            "\"\\ude0\u0263\"",
            "[[[[[]]]], false]",
            "\"\\ud83d\\ude00\\/\\b\\f\\r\\t\\\\\"",
            "{\"a\":{\"a\":{\"a\":1,\"a\":2},\"a\":3},\"a\":4}")
        .stream()
        .map(text -> text.getBytes(StandardCharsets.UTF_8))
        .toList();
  }

  /** Reads one text. */
  public static void attack(byte[] input) throws IOException {
    String text = new String(input, StandardCharsets.UTF_8);
    readBack(text);
    String edn = edn(input);
    JsonNode tree = tree(input);
    if (tree == null) {
      return;
    }
    if (edn == null) {
      throw new AssertionError("refused, and it is JSON: " + text);
    }
    Object expected = data(tree);
    Object actual = plain(READ.invoke(edn));
    if (!Objects.equals(expected, actual)) {
      throw new AssertionError(
          text + " as EDN is " + edn + ", which is " + actual + " and not " + expected);
    }
  }

  private static String edn(byte[] json) {
    WireOutput out = new WireOutput(64);
    try {
      JsonAsEdn.write(json, 0, json.length, out);
    } catch (PgException e) {
      return null;
    }
    if (out.size() > 16L * (json.length + 1)) {
      throw new AssertionError(out.size() + " bytes of EDN of " + json.length + " of JSON");
    }
    return new String(out.array(), 0, out.size(), StandardCharsets.UTF_8);
  }

  private static JsonNode tree(byte[] json) {
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(json));
      JsonNode tree = JACKSON.readTree(json);
      return tree == null || tree.isMissingNode() ? null : tree;
    } catch (IOException | NumberFormatException e) {
      // The last is Jackson's word for a number with more digits of an exponent than it reads.
      return null;
    }
  }

  private static Object data(JsonNode node) {
    if (node.isObject()) {
      Map<Object, Object> map = new HashMap<>();
      node.fields()
          .forEachRemaining(member -> map.put(sent(member.getKey()), data(member.getValue())));
      return map;
    }
    if (node.isArray()) {
      List<Object> list = new ArrayList<>();
      node.forEach(element -> list.add(data(element)));
      return list;
    }
    return node.isNumber()
        ? number(node.decimalValue())
        : node.isBoolean() ? node.booleanValue() : node.isNull() ? null : sent(node.textValue());
  }

  /** Half of a pair of surrogates, which type json lets pass, has no UTF-8. */
  private static String sent(String text) {
    return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
  }

  /**
   * What Clojure's reader has made of EDN, in the classes that {@link #data} has. Jackson's zeros
   * have no sign.
   */
  private static Object plain(Object value) {
    if (value instanceof Map<?, ?> map) {
      Map<Object, Object> all = new HashMap<>();
      map.forEach((key, element) -> all.put(key, plain(element)));
      return all;
    }
    if (value instanceof List<?> list) {
      List<Object> all = new ArrayList<>();
      list.forEach(element -> all.add(plain(element)));
      return all;
    }
    return value instanceof Number number
        ? value instanceof Double d ? (Object) (d + 0.0) : number(new BigDecimal(number.toString()))
        : value;
  }

  /** Fractions are doubles in Clojure unless they have an M behind them. */
  private static Object number(BigDecimal value) {
    return value.doubleValue();
  }

  private static void readBack(String text) throws IOException {
    WireOutput json = new WireOutput(64);
    Json.string(text, json);
    Object read = JACKSON.readTree(json.toByteArray()).textValue();
    WireOutput edn = new WireOutput(64);
    Edn.string(text, edn);
    Object again = READ.invoke(new String(edn.toByteArray(), StandardCharsets.UTF_8));
    if (!text.equals(read) || !text.equals(again)) {
      throw new AssertionError(text + " is read as " + read + " and " + again);
    }
  }
}
