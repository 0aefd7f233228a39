package dev.howdah.pg.wire;

import dev.howdah.pg.ConnectionException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * What a server says in SCRAM. It is refused, or answered with a proof that a server accepts which
 * computes it another way; no server that does not know the password is believed.
 */
public final class ScramServer {
  private static final String NONCE = "abcdefgh";
  private static final String PASSWORD = "secret";
  private static final int MOST_ITERATIONS = 8;

  private ScramServer() {}

  /** Two messages with a NUL between them. */
  public static List<byte[]> seeds() {
    return List.of(
            "r=abcdefghXYZ,s=c2FsdA==,i=4\0v=AAAA",
            "r=abcdefghX,s=,i=1,x=y\0e=other-error",
            "r=other,s=c2FsdA==,i=4\0",
            "r=abcdefgh1,s=!,i=9\0v=")
        .stream()
        .map(text -> text.getBytes(StandardCharsets.UTF_8))
        .toList();
  }

  /** Plays a server's part. */
  public static void attack(byte[] input) throws GeneralSecurityException {
    String[] messages = new String(input, StandardCharsets.UTF_8).split("\0", 2);
    Scram scram = new Scram(PASSWORD, MOST_ITERATIONS, null, false, NONCE);
    refused(() -> scram.verify(messages[messages.length - 1]));
    String[] answer = {null};
    if (refused(() -> answer[0] = scram.answer(messages[0]))) {
      return;
    }
    if (messages[0].contains(",s=,")) {
      // The JDK's own way knows no empty salt.
      return;
    }
    String signature = signature(messages[0], answer[0]);
    if (messages.length > 1
        && !refused(() -> scram.verify(messages[1]))
        && !Arrays.equals(decoded(messages[1].substring(2)), decoded(signature))) {
      throw new AssertionError("believed: " + messages[1]);
    }
    scram.verify("v=" + signature);
  }

  private static byte[] decoded(String text) {
    return Base64.getDecoder().decode(text.split(",")[0]);
  }

  private static boolean refused(Runnable step) {
    try {
      step.run();
      return false;
    } catch (ConnectionException e) {
      return true;
    }
  }

  /** Checks the proof as a server does (RFC 5802, 3); what the server then proves itself with. */
  private static String signature(String first, String answer) throws GeneralSecurityException {
    String[] fields = first.split(",");
    PBEKeySpec key =
        new PBEKeySpec(
            PASSWORD.toCharArray(),
            Base64.getDecoder().decode(fields[1].substring(2)),
            Integer.parseInt(fields[2].substring(2)),
            256);
    byte[] salted =
        SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256").generateSecret(key).getEncoded();
    int proofAt = answer.lastIndexOf(",p=");
    String message = "n=,r=" + NONCE + "," + first + "," + answer.substring(0, proofAt);
    byte[] clientKey = hmac(salted, "Client Key");
    byte[] stored = java.security.MessageDigest.getInstance("SHA-256").digest(clientKey);
    byte[] proof = Base64.getDecoder().decode(answer.substring(proofAt + 3));
    byte[] clientSignature = hmac(stored, message);
    for (int i = 0; i < proof.length; i++) {
      proof[i] ^= clientSignature[i];
    }
    if (!Arrays.equals(proof, clientKey)) {
      throw new AssertionError("not a proof: " + answer + " to " + first);
    }
    return Base64.getEncoder().encodeToString(hmac(hmac(salted, "Server Key"), message));
  }

  private static byte[] hmac(byte[] key, String text) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(key, "HmacSHA256"));
    return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
  }
}
