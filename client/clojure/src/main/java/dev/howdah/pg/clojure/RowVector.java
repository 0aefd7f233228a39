package dev.howdah.pg.clojure;

import clojure.lang.APersistentVector;
import clojure.lang.IFn;
import clojure.lang.IKVReduce;
import clojure.lang.IObj;
import clojure.lang.IPersistentCollection;
import clojure.lang.IPersistentMap;
import clojure.lang.IPersistentStack;
import clojure.lang.IPersistentVector;
import clojure.lang.IReduce;
import clojure.lang.PersistentHashMap;
import clojure.lang.PersistentVector;
import clojure.lang.RT;
import clojure.lang.Reduced;
import dev.howdah.pg.Result;
import dev.howdah.pg.Row;
import java.util.Iterator;
import java.util.Map;

/**
 * A result as a vector: counted, indexed, reducible, foldable. Whatever changes it makes an
 * ordinary vector.
 */
public final class RowVector extends APersistentVector implements IObj, IReduce, IKVReduce {
  private static final long serialVersionUID = 1;

  private final transient Result rows;
  private final IPersistentMap meta;

  /** The rows of a result. */
  public RowVector(Result rows, IPersistentMap meta) {
    this.rows = rows;
    this.meta = meta;
  }

  /** The result, which can write itself as JSON. */
  public Result result() {
    return rows;
  }

  @Override
  public Object nth(int index) {
    return rows.get(index);
  }

  @Override
  public int count() {
    return rows.size();
  }

  private PersistentVector copy() {
    return PersistentVector.create((Iterable<?>) rows).withMeta(meta);
  }

  /** Serialized, it is an ordinary vector of ordinary maps. */
  private Object writeReplace() {
    return PersistentVector.create(
        rows.stream().map(row -> PersistentHashMap.create((Map<?, ?>) row)).toList());
  }

  @Override
  public IPersistentVector cons(Object row) {
    return copy().cons(row);
  }

  @Override
  public IPersistentVector assocN(int index, Object row) {
    return copy().assocN(index, row);
  }

  @Override
  public IPersistentStack pop() {
    return copy().pop();
  }

  @Override
  public IPersistentCollection empty() {
    return (IPersistentCollection) PersistentVector.EMPTY.withMeta(meta);
  }

  @Override
  public IPersistentMap meta() {
    return meta;
  }

  @Override
  public IObj withMeta(IPersistentMap other) {
    return new RowVector(rows, other);
  }

  @Override
  @SuppressWarnings("rawtypes")
  public Iterator iterator() {
    return rows.iterator();
  }

  @Override
  public Object reduce(IFn function) {
    Iterator<Row> left = rows.iterator();
    return left.hasNext() ? reduce(function, left.next(), left) : function.invoke();
  }

  @Override
  public Object reduce(IFn function, Object start) {
    return reduce(function, start, rows.iterator());
  }

  @Override
  public Object kvreduce(IFn function, Object start) {
    Object state = start;
    int index = 0;
    for (Row row : rows) {
      state = function.invoke(state, index++, row);
      if (RT.isReduced(state)) {
        return ((Reduced) state).deref();
      }
    }
    return state;
  }

  private static Object reduce(IFn function, Object start, Iterator<Row> left) {
    Object state = start;
    while (left.hasNext()) {
      state = function.invoke(state, left.next());
      if (RT.isReduced(state)) {
        return ((Reduced) state).deref();
      }
    }
    return state;
  }
}
