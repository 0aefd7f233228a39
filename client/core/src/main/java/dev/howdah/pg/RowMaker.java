package dev.howdah.pg;

/**
 * Makes the row objects of one shape. The Clojure client makes rows that are maps; what it needs to
 * know of the columns it keeps in its maker, once for the statement.
 */
@FunctionalInterface
public interface RowMaker {
  /** Makes the row that begins at a position of a segment. */
  Row row(Segment segment, int start);

  /** Makes the maker for a shape. */
  @FunctionalInterface
  interface Factory {
    /** Plain rows. */
    Factory PLAIN = shape -> Row::new;

    /** The maker for a shape. */
    RowMaker maker(Shape shape);
  }
}
