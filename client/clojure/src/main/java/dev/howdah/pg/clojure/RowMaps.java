package dev.howdah.pg.clojure;

import clojure.lang.IFn;
import dev.howdah.pg.Row;
import dev.howdah.pg.RowMaker;
import dev.howdah.pg.Segment;
import dev.howdah.pg.Shape;

/**
 * Makes rows that are maps, their keys made of the columns' names by a function. Two with the same function
 * are equal, so that a statement keeps its table of keys as long as it meets the same function.
 *
 * @param keyFunction what makes a key of a column's name
 */
public record RowMaps(IFn keyFunction) implements RowMaker.Factory {
  @Override
  public RowMaker maker(Shape shape) {
    return new Maker(new Keys(shape, keyFunction));
  }

  /** Makes the rows of one shape and keeps what they share. */
  static final class Maker implements RowMaker {
    final Keys keys;

    Maker(Keys keys) {
      this.keys = keys;
    }

    @Override
    public Row row(Segment segment, int start) {
      return new RowMap(segment, start);
    }
  }
}
