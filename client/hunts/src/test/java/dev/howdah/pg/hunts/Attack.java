package dev.howdah.pg.hunts;

/**
 * What Jazzer calls: it begins with the name of a target, and goes on with one input after the
 * other.
 */
public final class Attack {
  private static Target target;

  private Attack() {}

  /**
   * Reads true inputs first, while no limit of time counts: all classes are loaded then, which
   * Jazzer changes.
   */
  public static void fuzzerInitialize(String[] arguments) throws Exception {
    target = Target.valueOf(arguments[0]);
    for (byte[] seed : target.seeds()) {
      target.attack(seed);
    }
  }

  /** Reads one input. */
  public static void fuzzerTestOneInput(byte[] input) throws Exception {
    target.attack(input);
  }
}
