package dev.howdah.pg.types;

import java.util.AbstractList;
import java.util.Arrays;
import java.util.List;
import java.util.RandomAccess;

/**
 * An array of the server: an unchangeable list of its elements, of sub-arrays where it has more
 * than one dimension. Lower bounds are kept; equality is that of lists and ignores them.
 */
public final class PgArray extends AbstractList<Object> implements RandomAccess {
  private final Object[] elements;
  private final int[] lengths;
  private final int[] lowerBounds;
  private final int from;

  PgArray(Object[] elements, int[] lengths, int[] lowerBounds) {
    this(elements, lengths, lowerBounds, 0);
  }

  private PgArray(Object[] elements, int[] lengths, int[] lowerBounds, int from) {
    this.elements = elements;
    this.lengths = lengths;
    this.lowerBounds = lowerBounds;
    this.from = from;
  }

  /** A one-dimensional array whose first index is the given one. */
  public static PgArray of(int lowerBound, List<?> elements) {
    return new PgArray(elements.toArray(), new int[] {elements.size()}, new int[] {lowerBound});
  }

  /** The first index of each dimension; 1 unless the server says otherwise. */
  public int[] lowerBounds() {
    return lowerBounds.clone();
  }

  /** The length of each dimension; none for an empty array. */
  public int[] lengths() {
    return lengths.clone();
  }

  int dimensions() {
    return lengths.length;
  }

  Object[] flat() {
    return elements;
  }

  int from() {
    return from;
  }

  int total() {
    int total = lengths.length == 0 ? 0 : 1;
    for (int length : lengths) {
      total *= length;
    }
    return total;
  }

  @Override
  public Object get(int index) {
    java.util.Objects.checkIndex(index, size());
    if (lengths.length == 1) {
      return elements[from + index];
    }
    int[] rest = Arrays.copyOfRange(lengths, 1, lengths.length);
    int step = 1;
    for (int length : rest) {
      step *= length;
    }
    return new PgArray(
        elements,
        rest,
        Arrays.copyOfRange(lowerBounds, 1, lowerBounds.length),
        from + index * step);
  }

  @Override
  public int size() {
    return lengths.length == 0 ? 0 : lengths[0];
  }
}
