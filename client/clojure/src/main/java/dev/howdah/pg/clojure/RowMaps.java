package dev.howdah.pg.clojure;

import clojure.lang.IFn;
import dev.howdah.pg.Row;
import dev.howdah.pg.RowMaker;
import dev.howdah.pg.Segment;
import dev.howdah.pg.Shape;

/** Makes rows that are maps, their keys made of the columns' names by a function. */
public final class RowMaps implements RowMaker.Factory {
  private final IFn keyFunction;

  /** Rows whose keys are what the function makes of the columns' names. */
  public RowMaps(IFn keyFunction) {
    this.keyFunction = keyFunction;
  }

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
