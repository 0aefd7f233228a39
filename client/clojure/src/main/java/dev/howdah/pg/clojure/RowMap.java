package dev.howdah.pg.clojure;

import clojure.lang.APersistentMap;
import clojure.lang.IEditableCollection;
import clojure.lang.IFn;
import clojure.lang.IHashEq;
import clojure.lang.IKVReduce;
import clojure.lang.IMapEntry;
import clojure.lang.IObj;
import clojure.lang.IPersistentCollection;
import clojure.lang.IPersistentMap;
import clojure.lang.ISeq;
import clojure.lang.ITransientCollection;
import clojure.lang.MapEquivalence;
import clojure.lang.PersistentArrayMap;
import clojure.lang.RT;
import clojure.lang.Reduced;
import clojure.lang.Util;
import dev.howdah.pg.Row;
import dev.howdah.pg.Segment;
import java.util.AbstractCollection;
import java.util.AbstractSet;
import java.util.Collection;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;

/**
 * A row that is a persistent map: its keys are the columns' names, its values are decoded when they
 * are read. Whatever changes it makes a {@link RowOverlay} over it, which decodes nothing.
 *
 * <p>It is a Row and not an object that holds one, so that an untouched row stays as small as
 * Java's.
 */
public final class RowMap extends Row
    implements IPersistentMap,
        MapFunction,
        IObj,
        IKVReduce,
        IHashEq,
        MapEquivalence,
        IEditableCollection,
        Map<Object, Object> {
  RowMap(Segment segment, int start) {
    super(segment, start);
  }

  /** A map's value is the same object each time: the hash of an array is its identity. */
  @Override
  protected boolean holdsArrays() {
    return ((RowMaps.Maker) maker()).arrays;
  }

  Keys keys() {
    return ((RowMaps.Maker) maker()).keys;
  }

  @Override
  public Object valAt(Object key) {
    return valAt(key, null);
  }

  @Override
  public Object valAt(Object key, Object otherwise) {
    int column = keys().indexOf(key);
    return column < 0 ? otherwise : getObject(column);
  }

  @Override
  public boolean containsKey(Object key) {
    return keys().indexOf(key) >= 0;
  }

  @Override
  public IMapEntry entryAt(Object key) {
    int column = keys().indexOf(key);
    return column < 0 ? null : new RowEntry(this, column);
  }

  @Override
  public int count() {
    return width();
  }

  private RowOverlay overlay() {
    return new RowOverlay(this, PersistentArrayMap.EMPTY, width(), null);
  }

  @Override
  public IPersistentMap assoc(Object key, Object value) {
    IPersistentMap changes = new PersistentArrayMap(new Object[] {key, value});
    return new RowOverlay(this, changes, containsKey(key) ? width() : width() + 1, null);
  }

  @Override
  public IPersistentMap assocEx(Object key, Object value) {
    if (containsKey(key)) {
      throw Util.runtimeException("Key already present");
    }
    return assoc(key, value);
  }

  @Override
  public IPersistentMap without(Object key) {
    return containsKey(key) ? overlay().without(key) : this;
  }

  @Override
  public ITransientCollection asTransient() {
    return overlay().asTransient();
  }

  @Override
  public IPersistentCollection cons(Object entry) {
    return overlay().cons(entry);
  }

  @Override
  public IPersistentCollection empty() {
    return PersistentArrayMap.EMPTY;
  }

  @Override
  public IPersistentMap meta() {
    return null;
  }

  @Override
  public IObj withMeta(IPersistentMap meta) {
    return meta == null ? this : overlay().withMeta(meta);
  }

  @Override
  public ISeq seq() {
    return width() == 0 ? null : new RowSeq(null, this, 0);
  }

  @Override
  public Object kvreduce(IFn function, Object start) {
    Object state = start;
    Keys keys = keys();
    for (int i = 0; i < keys.size(); i++) {
      state = function.invoke(state, keys.key(i), getObject(i));
      if (RT.isReduced(state)) {
        return ((Reduced) state).deref();
      }
    }
    return state;
  }

  @Override
  @SuppressWarnings({"rawtypes", "unchecked"})
  public Iterator iterator() {
    return new Entries();
  }

  private final class Entries implements Iterator<Object> {
    private int column;

    @Override
    public boolean hasNext() {
      return column < width();
    }

    @Override
    public Object next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return new RowEntry(RowMap.this, column++);
    }
  }

  @Override
  public boolean equiv(Object other) {
    if (!(other instanceof Map<?, ?> map)
        || other instanceof IPersistentMap && !(other instanceof MapEquivalence)) {
      return false;
    }
    if (map.size() != width()) {
      return false;
    }
    Keys keys = keys();
    for (int i = 0; i < keys.size(); i++) {
      Object key = keys.key(i);
      if (!map.containsKey(key) || !Util.equiv(getObject(i), map.get(key))) {
        return false;
      }
    }
    return true;
  }

  @Override
  public boolean equals(Object other) {
    return APersistentMap.mapEquals(this, other);
  }

  @Override
  public int hashCode() {
    return APersistentMap.mapHash(this);
  }

  @Override
  public int hasheq() {
    return APersistentMap.mapHasheq(this);
  }

  @Override
  public String toString() {
    return RT.printString(this);
  }

  @Override
  public int size() {
    return width();
  }

  @Override
  public boolean isEmpty() {
    return width() == 0;
  }

  @Override
  public Object get(Object key) {
    return valAt(key);
  }

  @Override
  public boolean containsValue(Object value) {
    return values().contains(value);
  }

  @Override
  public Set<Object> keySet() {
    return new AbstractSet<>() {
      @Override
      public Iterator<Object> iterator() {
        return column(true);
      }

      @Override
      public int size() {
        return width();
      }
    };
  }

  @Override
  public Collection<Object> values() {
    return new AbstractCollection<>() {
      @Override
      public Iterator<Object> iterator() {
        return column(false);
      }

      @Override
      public int size() {
        return width();
      }
    };
  }

  private Iterator<Object> column(boolean ofKeys) {
    Iterator<Object> entries = new Entries();
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return entries.hasNext();
      }

      @Override
      public Object next() {
        RowEntry entry = (RowEntry) entries.next();
        return ofKeys ? entry.key() : entry.val();
      }
    };
  }

  @Override
  public Set<Entry<Object, Object>> entrySet() {
    return new AbstractSet<>() {
      @Override
      @SuppressWarnings("unchecked")
      public Iterator<Entry<Object, Object>> iterator() {
        return (Iterator<Entry<Object, Object>>) (Iterator<?>) new Entries();
      }

      @Override
      public int size() {
        return width();
      }
    };
  }

  @Override
  public Object put(Object key, Object value) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Object remove(Object key) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void putAll(Map<?, ?> map) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void clear() {
    throw new UnsupportedOperationException();
  }
}
