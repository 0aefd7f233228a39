package dev.howdah.pg.clojure;

import clojure.lang.APersistentMap;
import clojure.lang.IEditableCollection;
import clojure.lang.IFn;
import clojure.lang.IKVReduce;
import clojure.lang.IMapEntry;
import clojure.lang.IObj;
import clojure.lang.IPersistentCollection;
import clojure.lang.IPersistentMap;
import clojure.lang.ISeq;
import clojure.lang.ITransientCollection;
import clojure.lang.IteratorSeq;
import clojure.lang.MapEntry;
import clojure.lang.PersistentArrayMap;
import clojure.lang.PersistentHashMap;
import clojure.lang.RT;
import clojure.lang.Reduced;
import clojure.lang.Util;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;

/**
 * A row and the changes made to it: keys that were given another value, keys that were added, and
 * columns that were removed. Only what is read is decoded. Columns keep their order; what was added
 * comes after.
 */
public final class RowOverlay extends APersistentMap
    implements IObj, IKVReduce, IEditableCollection {
  private static final long serialVersionUID = 1;

  /** Stands in the changes for a column that was removed. */
  static final Object REMOVED = new Object();

  static final Object ABSENT = new Object();

  private final transient RowMap row;
  private final IPersistentMap changes;
  private final int count;
  private final IPersistentMap meta;

  RowOverlay(RowMap row, IPersistentMap changes, int count, IPersistentMap meta) {
    this.row = row;
    this.changes = changes;
    this.count = count;
    this.meta = meta;
  }

  /**
   * The same changes of a row with bytes of its own, so that it keeps no other row of its result in
   * memory.
   */
  public RowOverlay detach() {
    return new RowOverlay((RowMap) row.detach(), changes, count, meta);
  }

  @Override
  public Object valAt(Object key) {
    return valAt(key, null);
  }

  @Override
  public Object valAt(Object key, Object otherwise) {
    Object changed = changes.valAt(key, ABSENT);
    if (changed == ABSENT) {
      return row.valAt(key, otherwise);
    }
    return changed == REMOVED ? otherwise : changed;
  }

  @Override
  public boolean containsKey(Object key) {
    Object changed = changes.valAt(key, ABSENT);
    return changed == ABSENT ? row.containsKey(key) : changed != REMOVED;
  }

  @Override
  public IMapEntry entryAt(Object key) {
    Object changed = changes.valAt(key, ABSENT);
    if (changed == ABSENT) {
      return row.entryAt(key);
    }
    return changed == REMOVED ? null : MapEntry.create(key, changed);
  }

  @Override
  public int count() {
    return count;
  }

  @Override
  public IPersistentMap assoc(Object key, Object value) {
    return new RowOverlay(
        row, changes.assoc(key, value), containsKey(key) ? count : count + 1, meta);
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
    if (!containsKey(key)) {
      return this;
    }
    IPersistentMap left = row.containsKey(key) ? changes.assoc(key, REMOVED) : changes.without(key);
    return new RowOverlay(row, left, count - 1, meta);
  }

  @Override
  public ITransientCollection asTransient() {
    return new TransientRow(row, changes, count, meta);
  }

  @Override
  public IPersistentCollection empty() {
    return (IPersistentCollection) PersistentArrayMap.EMPTY.withMeta(meta);
  }

  @Override
  public IPersistentMap meta() {
    return meta;
  }

  @Override
  public IObj withMeta(IPersistentMap other) {
    return other == meta ? this : new RowOverlay(row, changes, count, other);
  }

  @Override
  public ISeq seq() {
    return count == 0 ? null : IteratorSeq.create(iterator());
  }

  @Override
  public Object kvreduce(IFn function, Object start) {
    Object state = start;
    for (Iterator<?> entries = iterator(); entries.hasNext(); ) {
      Map.Entry<?, ?> entry = (Map.Entry<?, ?>) entries.next();
      state = function.invoke(state, entry.getKey(), entry.getValue());
      if (RT.isReduced(state)) {
        return ((Reduced) state).deref();
      }
    }
    return state;
  }

  @Override
  @SuppressWarnings("rawtypes")
  public Iterator iterator() {
    return new Entries();
  }

  /** Serialized, it is an ordinary map: a row's bytes belong to its result. */
  private Object writeReplace() {
    return PersistentHashMap.create((Map<?, ?>) this);
  }

  /** The columns that are left, in order, and then what was added. */
  private final class Entries implements Iterator<Object> {
    private int column;
    private final Iterator<?> added = changes.iterator();
    private Object next = advance();

    private Object advance() {
      Keys keys = row.keys();
      while (column < keys.size()) {
        IMapEntry entry = entryAt(keys.key(column++));
        if (entry != null) {
          return entry;
        }
      }
      while (added.hasNext()) {
        Map.Entry<?, ?> entry = (Map.Entry<?, ?>) added.next();
        if (!row.containsKey(entry.getKey())) {
          return entry;
        }
      }
      return null;
    }

    @Override
    public boolean hasNext() {
      return next != null;
    }

    @Override
    public Object next() {
      Object entry = next;
      if (entry == null) {
        throw new NoSuchElementException();
      }
      next = advance();
      return entry;
    }
  }
}
