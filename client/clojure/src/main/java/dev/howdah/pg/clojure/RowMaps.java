package dev.howdah.pg.clojure;

import clojure.lang.IFn;
import dev.howdah.pg.Row;
import dev.howdah.pg.RowMaker;
import dev.howdah.pg.Segment;
import dev.howdah.pg.Shape;

/**
 * Makes rows that are maps, their keys made of the columns' names by a function. Two with the same
 * function are equal, so that a statement keeps its table of keys as long as it meets the same
 * function.
 *
 * @param keyFunction what makes a key of a column's name
 */
public record RowMaps(IFn keyFunction) implements RowMaker.Factory {
  @Override
  public RowMaker maker(Shape shape) {
    return new Maker(
        new Keys(shape, keyFunction),
        shape.columns().stream().anyMatch(column -> !column.codec().cacheable()));
  }

  /** Makes the rows of one shape and keeps what they share. */
  static final class Maker implements RowMaker {
    final Keys keys;

    /** Whether some value has an array of bytes in it. */
    final boolean arrays;

    Maker(Keys keys, boolean arrays) {
      this.keys = keys;
      this.arrays = arrays;
    }

    @Override
    public Row row(Segment segment, int start) {
      return new RowMap(segment, start);
    }
  }
}
