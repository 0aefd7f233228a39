package dev.howdah.pg.clojure;

import clojure.lang.IFn;
import clojure.lang.Keyword;
import clojure.lang.Util;
import dev.howdah.pg.Shape;
import java.util.List;

/**
 * The keys of a statement's rows and where each stands: one table for all rows of all executions.
 *
 * <p>Keywords are compared by identity, which is what they are for; a lookup is a hash, a mask and
 * mostly one comparison.
 */
final class Keys {
  private final Object[] keys;
  private final Object[] table;
  private final short[] indexes;
  private final int mask;

  Keys(Shape shape, IFn keyFunction) {
    List<String> names = shape.distinctNames();
    keys = new Object[names.size()];
    int capacity = Integer.highestOneBit(Math.max(1, keys.length)) * 4;
    table = new Object[capacity];
    indexes = new short[capacity];
    mask = capacity - 1;
    for (int i = 0; i < keys.length; i++) {
      keys[i] = keyFunction.invoke(names.get(i));
      put(keys[i], i);
    }
  }

  private void put(Object key, int index) {
    int at = Util.hasheq(key) & mask;
    while (table[at] != null) {
      if (Util.equiv(table[at], key)) {
        throw new IllegalArgumentException("the key function gives " + key + " for two columns");
      }
      at = (at + 1) & mask;
    }
    table[at] = key;
    indexes[at] = (short) index;
  }

  int size() {
    return keys.length;
  }

  Object key(int index) {
    return keys[index];
  }

  /** The column of a key, -1 if there is none. */
  int indexOf(Object key) {
    if (key instanceof Keyword keyword) {
      int at = keyword.hasheq() & mask;
      while (table[at] != null) {
        if (table[at] == key) {
          return indexes[at];
        }
        at = (at + 1) & mask;
      }
      return -1;
    }
    return key == null ? -1 : indexOfOther(key);
  }

  private int indexOfOther(Object key) {
    int at = Util.hasheq(key) & mask;
    while (table[at] != null) {
      if (Util.equiv(table[at], key)) {
        return indexes[at];
      }
      at = (at + 1) & mask;
    }
    return -1;
  }
}
