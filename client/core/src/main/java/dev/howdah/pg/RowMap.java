package dev.howdah.pg;

import java.io.Serializable;
import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.function.BiConsumer;

/**
 * A row's values by name, in the order of the columns: what {@link Row#toMap} gives. It does not
 * change.
 *
 * <p>The values are in an array and the names are those of the {@link Shape}, which all rows share,
 * so a map costs no entries of its own.
 */
final class RowMap extends AbstractMap<String, Object> implements Serializable {
  private final transient Shape shape;
  private final transient Object[] values;

  /** Takes the array over. */
  RowMap(Shape shape, Object[] values) {
    this.shape = shape;
    this.values = values;
  }

  @Override
  public int size() {
    return shape.names();
  }

  @Override
  public Object get(Object key) {
    int column = column(key);
    return column < 0 ? null : values[column];
  }

  @Override
  public boolean containsKey(Object key) {
    return column(key) >= 0;
  }

  @Override
  public Object getOrDefault(Object key, Object other) {
    int column = column(key);
    return column < 0 ? other : values[column];
  }

  private int column(Object key) {
    return key instanceof String name ? shape.indexOf(name) : -1;
  }

  @Override
  public void forEach(BiConsumer<? super String, ? super Object> action) {
    for (int i = firstFrom(0); i < values.length; i = firstFrom(i + 1)) {
      action.accept(shape.columns().get(i).name(), values[i]);
    }
  }

  /** The first column from this one on that its name means. */
  private int firstFrom(int column) {
    int at = column;
    while (at < values.length && !shape.isFirst(at)) {
      at++;
    }
    return at;
  }

  @Override
  public Set<Map.Entry<String, Object>> entrySet() {
    return new Entries();
  }

  private final class Entries extends AbstractSet<Map.Entry<String, Object>> {
    @Override
    public int size() {
      return RowMap.this.size();
    }

    @Override
    public Iterator<Map.Entry<String, Object>> iterator() {
      return new Iterator<>() {
        private int at = firstFrom(0);

        @Override
        public boolean hasNext() {
          return at < values.length;
        }

        @Override
        public Map.Entry<String, Object> next() {
          if (!hasNext()) {
            throw new NoSuchElementException();
          }
          int column = at;
          at = firstFrom(column + 1);
          return new SimpleImmutableEntry<>(shape.columns().get(column).name(), values[column]);
        }
      };
    }
  }

  /** Serialized as a map that knows no shape. */
  private Object writeReplace() {
    return Collections.unmodifiableMap(new LinkedHashMap<>(this));
  }
}
