package dev.howdah.pg;

import dev.howdah.pg.wire.WireOutput;

/**
 * The notation in which rows of one shape are written. It knows nothing of a run, so one serves all
 * at once.
 */
interface RowNotation {
  /** Writes what stands in front of the first row. */
  void begin(WireOutput out);

  /** Writes one row, which begins at a position; it is the first or not. */
  void row(byte[] bytes, int start, boolean first, WireOutput out);

  /** Writes what stands behind the last row. */
  void end(WireOutput out);

  /** Makes the notation of a statement's rows once their shape is known. */
  @FunctionalInterface
  interface Factory {
    RowNotation of(Shape shape);
  }
}
