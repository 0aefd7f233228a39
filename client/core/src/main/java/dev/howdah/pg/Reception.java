package dev.howdah.pg;

/** Says what becomes of a statement's rows once their shape is known. */
@FunctionalInterface
interface Reception {
  /**
   * The sink for rows of a shape. May be asked again when a statement must be run a second time.
   */
  RowSink begin(Shape shape);

  /** Lets go of the rows that came before their statement failed. */
  default void drop() {}
}
