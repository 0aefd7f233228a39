package dev.howdah.pg.clojure;

import clojure.lang.ASeq;
import clojure.lang.Counted;
import clojure.lang.IPersistentMap;
import clojure.lang.ISeq;
import clojure.lang.Obj;

/** The entries of a row in the order of its columns. */
final class RowSeq extends ASeq implements Counted {
  private static final long serialVersionUID = 1;

  private final transient RowMap row;
  private final int column;

  RowSeq(IPersistentMap meta, RowMap row, int column) {
    super(meta);
    this.row = row;
    this.column = column;
  }

  @Override
  public Object first() {
    return new RowEntry(row, column);
  }

  @Override
  public ISeq next() {
    return column + 1 < row.keys().size() ? new RowSeq(null, row, column + 1) : null;
  }

  @Override
  public int count() {
    return row.keys().size() - column;
  }

  @Override
  public Obj withMeta(IPersistentMap meta) {
    return new RowSeq(meta, row, column);
  }
}
