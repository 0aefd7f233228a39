package dev.howdah.pg.clojure;

import clojure.lang.AMapEntry;

/** An entry of a row whose value is decoded when it is asked for. */
final class RowEntry extends AMapEntry {
  private final RowMap row;
  private final int column;

  RowEntry(RowMap row, int column) {
    this.row = row;
    this.column = column;
  }

  @Override
  public Object key() {
    return row.keys().key(column);
  }

  @Override
  public Object val() {
    return row.getObject(column);
  }

  @Override
  public Object getKey() {
    return key();
  }

  @Override
  public Object getValue() {
    return val();
  }
}
