package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import java.util.List;

/**
 * What a statement takes and returns.
 *
 * @param parameters its parameters in order
 * @param shape its columns; none for a statement that returns no rows
 */
public record Description(List<Parameter> parameters, Shape shape) {
  /**
   * A parameter.
   *
   * @param type the number of the type that the server infers for it
   * @param codec how its values are written
   */
  public record Parameter(int type, Codec codec) {}
}
