package dev.howdah.pg.types;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.howdah.pg.PgException;
import java.math.BigDecimal;
import org.junit.jupiter.api.Test;

/** A value is the same whether it comes in the binary format or as text. */
class FormatsAgreeTest {
  private final TypeRegistry registry = new TypeRegistry(TypeOptions.NONE);

  @Test
  void aNumericHasNoScaleBelowZero() {
    Codec numeric = registry.codec(1700);
    assertEquals(new BigDecimal("1000"), numeric.parse("1e3"));
    assertEquals(new BigDecimal("0.10"), numeric.parse("0.10"));
    assertThrows(PgException.class, () -> numeric.parse("1e131073"));
  }

  @Test
  void theTypeSaysWhetherAnAddressIsANetwork() {
    byte[] network = {2, 8, 1, 4, 10, 0, 0, 0};
    assertEquals(
        registry.codec(869).parse("10.0.0.0/8"), registry.codec(869).decode(network, 0, 8));
    assertEquals(
        registry.codec(650).parse("10.0.0.0/8"), registry.codec(650).decode(network, 0, 8));
  }

  @Test
  void pathsAndPolygonsHaveAPoint() {
    byte[] none = {0, 0, 0, 0};
    Codec polygon = registry.codec(604);
    assertThrows(PgException.class, () -> polygon.decode(none, 0, 4));
    assertThrows(PgException.class, () -> polygon.parse(","));
    assertThrows(PgException.class, () -> registry.codec(602).parse("[]"));
  }
}
