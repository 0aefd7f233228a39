package dev.howdah.pg.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TlsTransportTest {
  @Test
  void theHashOfEachSignatureBindsTheChannel() throws NoSuchAlgorithmException {
    Map<String, Integer> bits =
        Map.of(
            "SHA256WITHRSA",
            256,
            "SHA384WITHECDSA",
            384,
            "SHA512WITHRSA",
            512,
            "SHA1WITHRSA",
            160,
            "SHA512/256WITHRSA",
            256,
            "SHA3-256WITHRSA",
            256,
            "SHA3-512WITHECDSA",
            512,
            "MD5WITHRSA",
            128);
    for (String algorithm : bits.keySet()) {
      String hash = TlsTransport.hashOf(algorithm);
      assertEquals(
          bits.get(algorithm),
          8 * MessageDigest.getInstance(hash).getDigestLength(),
          algorithm + ": " + hash);
    }
    assertNull(TlsTransport.hashOf("ED25519"));
  }
}
