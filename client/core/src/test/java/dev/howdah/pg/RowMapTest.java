package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;

/** A row as a map. */
class RowMapTest {
  private static final String KIND =
      "select 1 as a, null as b, 'two' as a, 3.5 as c, 'four' as b, '\\x01'::bytea as d";

  private static Row row() {
    try (Connection connection = PrivateServer.connect()) {
      return connection.first(KIND);
    }
  }

  private static Map<String, Object> expected(Map<String, Object> map) {
    Map<String, Object> expected = new LinkedHashMap<>();
    expected.put("a", 1);
    expected.put("b", null);
    expected.put("c", new java.math.BigDecimal("3.5"));
    expected.put("d", map.get("d"));
    return expected;
  }

  @Test
  void isLikeAnyOtherMap() {
    Map<String, Object> map = row().toMap();
    Map<String, Object> expected = expected(map);
    assertEquals(expected, map);
    assertEquals(map, expected);
    assertEquals(expected.hashCode(), map.hashCode());
    assertEquals(expected.toString(), map.toString());
    assertNotEquals(Map.of("a", 1), map);
    assertEquals(List.of("a", "b", "c", "d"), new ArrayList<>(map.keySet()));
    assertEquals(new ArrayList<>(expected.values()), new ArrayList<>(map.values()));
    List<String> seen = new ArrayList<>();
    map.forEach((name, value) -> seen.add(name + (value == null)));
    assertEquals(List.of("afalse", "btrue", "cfalse", "dfalse"), seen);
    assertArrayEquals(new byte[] {1}, (byte[]) map.get("d"));
  }

  @Test
  void tellsNullFromNothing() {
    Map<String, Object> map = row().toMap();
    assertNull(map.get("b"));
    assertTrue(map.containsKey("b"));
    assertNull(map.getOrDefault("b", 7));
    assertNull(map.get("nothing"));
    assertFalse(map.containsKey("nothing"));
    assertEquals(7, map.getOrDefault("nothing", 7));
    assertNull(map.get(null));
    assertNull(map.get(1));
    assertTrue(map.containsValue(null));
  }

  @Test
  void doesNotChange() {
    Map<String, Object> map = row().toMap();
    assertThrows(UnsupportedOperationException.class, () -> map.put("a", 2));
    assertThrows(UnsupportedOperationException.class, () -> map.remove("a"));
    assertThrows(UnsupportedOperationException.class, map::clear);
    assertThrows(
        UnsupportedOperationException.class, () -> map.entrySet().iterator().next().setValue(2));
    var entries = map.entrySet().iterator();
    for (int i = 0; i < map.size(); i++) {
      entries.next();
    }
    assertFalse(entries.hasNext());
    assertThrows(NoSuchElementException.class, entries::next);
  }

  @Test
  void isTheSameWhetherTheRowWasReadBefore() {
    Row read = row();
    Object number = read.getObject("c");
    assertEquals(number, read.toMap().get("c"));
    assertArrayEquals(
        new Object[] {1, null, "two", number, "four"}, java.util.Arrays.copyOf(read.toArray(), 5));
    assertArrayEquals(
        new Object[] {1, null, "two", number, "four"}, java.util.Arrays.copyOf(row().toArray(), 5));
  }

  @Test
  void isSerialized() throws Exception {
    Map<String, Object> map = row().toMap();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(map);
    }
    Map<?, ?> back =
        (Map<?, ?>)
            new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
    assertEquals(List.of("a", "b", "c", "d"), new ArrayList<>(back.keySet()));
    assertEquals(map.get("c"), back.get("c"));
  }
}
