package dev.howdah.pg.clojure;

import clojure.lang.AFn;
import clojure.lang.IEditableCollection;
import clojure.lang.IMapEntry;
import clojure.lang.IPersistentMap;
import clojure.lang.IPersistentVector;
import clojure.lang.ISeq;
import clojure.lang.ITransientAssociative2;
import clojure.lang.ITransientMap;
import clojure.lang.MapEntry;
import clojure.lang.RT;
import java.util.Map;

/** A row to which many changes are made before anyone else sees it; it decodes nothing either. */
final class TransientRow extends AFn implements ITransientMap, ITransientAssociative2 {
  private final RowMap row;
  private final IPersistentMap meta;
  private ITransientMap changes;
  private int count;

  TransientRow(RowMap row, IPersistentMap changes, int count, IPersistentMap meta) {
    this.row = row;
    this.changes = (ITransientMap) ((IEditableCollection) changes).asTransient();
    this.count = count;
    this.meta = meta;
  }

  @Override
  public Object valAt(Object key) {
    return valAt(key, null);
  }

  @Override
  public Object valAt(Object key, Object otherwise) {
    Object changed = changes.valAt(key, RowOverlay.ABSENT);
    if (changed == RowOverlay.ABSENT) {
      return row.valAt(key, otherwise);
    }
    return changed == RowOverlay.REMOVED ? otherwise : changed;
  }

  @Override
  public boolean containsKey(Object key) {
    return has(key);
  }

  @Override
  public IMapEntry entryAt(Object key) {
    Object value = valAt(key, RowOverlay.ABSENT);
    return value == RowOverlay.ABSENT ? null : MapEntry.create(key, value);
  }

  private boolean has(Object key) {
    Object changed = changes.valAt(key, RowOverlay.ABSENT);
    return changed == RowOverlay.ABSENT ? row.containsKey(key) : changed != RowOverlay.REMOVED;
  }

  @Override
  public ITransientMap assoc(Object key, Object value) {
    boolean had = has(key);
    changes = changes.assoc(key, value);
    count += had ? 0 : 1;
    return this;
  }

  @Override
  public ITransientMap without(Object key) {
    if (has(key)) {
      changes =
          row.containsKey(key) ? changes.assoc(key, RowOverlay.REMOVED) : changes.without(key);
      count--;
    }
    return this;
  }

  @Override
  public ITransientMap conj(Object entry) {
    if (entry instanceof Map.Entry<?, ?> pair) {
      return assoc(pair.getKey(), pair.getValue());
    }
    if (entry instanceof IPersistentVector pair) {
      if (pair.count() != 2) {
        throw new IllegalArgumentException("Vector arg to map conj must be a pair");
      }
      return assoc(pair.nth(0), pair.nth(1));
    }
    for (ISeq pairs = RT.seq(entry); pairs != null; pairs = pairs.next()) {
      conj(pairs.first());
    }
    return this;
  }

  @Override
  public int count() {
    // Asked first, so that a row that was made persistent refuses this too.
    changes.count();
    return count;
  }

  @Override
  public IPersistentMap persistent() {
    return new RowOverlay(row, changes.persistent(), count, meta);
  }

  @Override
  public Object invoke(Object key) {
    return valAt(key);
  }

  @Override
  public Object invoke(Object key, Object otherwise) {
    return valAt(key, otherwise);
  }
}
