package dev.howdah.pg.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.howdah.pg.ConnectionException;
import org.junit.jupiter.api.Test;

class ScramTest {
  private static final String SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
  private static final String SALT = "W22ZaJ0SNY7soEsUEjb6gQ==";

  /**
   * The exchange of RFC 7677, but for the user name, which PostgreSQL takes from the startup
   * message.
   */
  private static Scram scram(int maxIterations) {
    return new Scram("pencil", maxIterations, null, false, "rOprNGfwEbeRWgbNEkqO");
  }

  private static String first(int iterations) {
    return "r=" + SERVER_NONCE + ",s=" + SALT + ",i=" + iterations;
  }

  @Test
  void theAnswerNamesTheWholeNonceAndTheServerMustProveItself() {
    Scram scram = scram(4096);
    assertEquals("n,,n=,r=rOprNGfwEbeRWgbNEkqO", scram.first());
    String answer = scram.answer(first(4096));
    assertTrue(answer.startsWith("c=biws,r=" + SERVER_NONCE + ",p="), answer);
    assertThrows(
        ConnectionException.class,
        () -> scram.verify("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
    assertThrows(ConnectionException.class, () -> scram.verify("e=other-error"));
    assertThrows(ConnectionException.class, () -> scram.verify("v="));
    assertThrows(ConnectionException.class, () -> scram.verify("v=,"));
  }

  @Test
  void tenMillionIterationsAreNotComputed() {
    ConnectionException error =
        assertThrows(ConnectionException.class, () -> scram(1_000_000).answer(first(10_000_000)));
    assertTrue(error.getMessage().contains("max_scram_iterations"), error.getMessage());
    assertThrows(ConnectionException.class, () -> scram(4096).answer(first(0)));
    assertThrows(
        ConnectionException.class,
        () -> scram(4096).answer("r=" + SERVER_NONCE + ",s=" + SALT + ",i=x"));
  }

  @Test
  void aNonceThatIsNotOursIsRefused() {
    assertThrows(
        ConnectionException.class,
        () -> scram(4096).answer("r=other" + SERVER_NONCE + ",s=" + SALT + ",i=4096"));
    assertThrows(
        ConnectionException.class,
        () -> scram(4096).answer("r=rOprNGfwEbeRWgbNEkqO,s=" + SALT + ",i=4096"));
    assertThrows(ConnectionException.class, () -> scram(4096).answer("nonsense"));
    assertThrows(
        ConnectionException.class, () -> scram(4096).answer("r=" + SERVER_NONCE + ",s=***,i=4096"));
    assertThrows(ConnectionException.class, () -> scram(4096).verify("v=AAAA"));
  }
}
