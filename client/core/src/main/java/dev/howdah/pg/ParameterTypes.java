package dev.howdah.pg;

import java.util.Arrays;

/**
 * The types that a client declares for a statement's parameters, by their OIDs, as the protocol's
 * Parse message has them. What is not declared, or is 0, the server infers. Immutable; it is part
 * of what a prepared statement is known by.
 */
public final class ParameterTypes {
  /** Nothing is declared. */
  public static final ParameterTypes INFERRED = new ParameterTypes(new int[0]);

  private final int[] oids;
  private final int hash;

  private ParameterTypes(int[] oids) {
    this.oids = oids;
    this.hash = Arrays.hashCode(oids);
  }

  /** The types of the first parameters, in their order. */
  public static ParameterTypes of(int... oids) {
    int declared = oids.length;
    while (declared > 0 && oids[declared - 1] == 0) {
      declared--;
    }
    return declared == 0 ? INFERRED : new ParameterTypes(Arrays.copyOf(oids, declared));
  }

  /** How many parameters have a place here. */
  int size() {
    return oids.length;
  }

  int oid(int index) {
    return oids[index];
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || other instanceof ParameterTypes types && Arrays.equals(oids, types.oids);
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    return Arrays.toString(oids);
  }
}
