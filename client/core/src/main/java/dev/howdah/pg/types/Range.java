package dev.howdah.pg.types;

/**
 * A range. A null bound is unbounded, and then never belongs to it; an empty range has no bounds.
 *
 * @param lower the lower bound, or null
 * @param upper the upper bound, or null
 * @param lowerInclusive whether the lower bound belongs to the range
 * @param upperInclusive whether the upper bound belongs to the range
 * @param empty whether nothing belongs to the range
 */
public record Range(
    Object lower, Object upper, boolean lowerInclusive, boolean upperInclusive, boolean empty) {
  /** The range that nothing belongs to. */
  public static final Range EMPTY = new Range(null, null, false, false, true);

  /**
   * As the server does, which writes and sends no other: a bound that is not there does not belong
   * to the range.
   */
  public Range {
    lower = empty ? null : lower;
    upper = empty ? null : upper;
    lowerInclusive &= lower != null;
    upperInclusive &= upper != null;
  }

  /** The range from the lower bound, which belongs to it, to the upper, which does not. */
  public static Range of(Object lower, Object upper) {
    return new Range(lower, upper, true, false, false);
  }
}
