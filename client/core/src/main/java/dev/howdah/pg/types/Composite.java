package dev.howdah.pg.types;

import java.util.AbstractList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.RandomAccess;

/**
 * A composite value or a record: an unchangeable list of its fields, which also knows their names.
 */
public final class Composite extends AbstractList<Object> implements RandomAccess {
  private final List<String> names;
  private final Object[] values;

  /**
   * The numbers of the fields' types where they are not those of the type that it was read as; else
   * null.
   */
  private final int[] otherTypes;

  Composite(List<String> names, Object[] values) {
    this(names, values, null);
  }

  Composite(List<String> names, Object[] values, int[] otherTypes) {
    this.names = names;
    this.values = values;
    this.otherTypes = otherTypes;
  }

  /** A value to send, its fields in the order of the type. */
  public static Composite of(Object... values) {
    return new Composite(names(values.length), values.clone());
  }

  /**
   * The names of a record's fields, which has none of its own: f1, f2 and so on, as in the server's
   * JSON.
   */
  static List<String> names(int count) {
    String[] names = new String[count];
    for (int i = 0; i < count; i++) {
      names[i] = "f" + (i + 1);
    }
    return Collections.unmodifiableList(Arrays.asList(names));
  }

  int[] otherTypes() {
    return otherTypes;
  }

  /** The fields' names. */
  public List<String> names() {
    return names;
  }

  /** The field of that name; null if it is null or there is none. */
  public Object get(String name) {
    int index = names.indexOf(name);
    return index < 0 ? null : values[index];
  }

  /** Names to values, in order. */
  public Map<String, Object> toMap() {
    Map<String, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < values.length; i++) {
      map.put(names.get(i), values[i]);
    }
    return Collections.unmodifiableMap(map);
  }

  @Override
  public Object get(int index) {
    return values[index];
  }

  @Override
  public int size() {
    return values.length;
  }
}
