package dev.howdah.pg.jdbc;

import dev.howdah.pg.Portal;
import dev.howdah.pg.Result;
import dev.howdah.pg.Row;
import dev.howdah.pg.Shape;
import java.util.List;

/**
 * What one statement answered: rows or a count of rows changed.
 *
 * @param shape the columns; none for a statement that returns no rows
 * @param rows the rows, or the first of them
 * @param portal where the other rows come from, or null
 * @param count how many rows were inserted, updated or deleted
 */
record Answer(Shape shape, List<Row> rows, Portal portal, long count) {
  static Answer of(Result result) {
    return new Answer(result.shape(), result, null, result.count());
  }

  /**
   * The first rows of a portal. A statement that returns none after all, such as SELECT INTO, is at
   * its end.
   */
  static Answer of(Portal portal) {
    Result first = portal.fetch();
    return new Answer(portal.shape(), first, portal.hasMore() ? portal : null, first.count());
  }

  boolean hasRows() {
    return shape.size() > 0;
  }
}
