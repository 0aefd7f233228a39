package dev.howdah.pg.wire;

import dev.howdah.pg.ConnectionException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The client's side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677). */
public final class Scram {
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final Base64.Encoder BASE64 = Base64.getEncoder();

  private final String password;
  private final int maxIterations;
  private final String header;
  private final byte[] binding;
  private final String nonce;
  private String authMessage;
  private byte[] saltedPassword;

  /**
   * One exchange.
   *
   * @param binding the certificate's hash for -PLUS, else null
   * @param couldBind whether we could have bound but the server did not offer it; a server that did
   *     offer it then notices that somebody removed the offer
   */
  public Scram(String password, int maxIterations, byte[] binding, boolean couldBind) {
    this(password, maxIterations, binding, couldBind, randomNonce());
  }

  Scram(String password, int maxIterations, byte[] binding, boolean couldBind, String nonce) {
    this.password = password;
    this.maxIterations = maxIterations;
    this.binding = binding == null ? new byte[0] : binding;
    this.header = binding != null ? "p=tls-server-end-point,," : couldBind ? "y,," : "n,,";
    this.nonce = nonce;
  }

  private static String randomNonce() {
    byte[] random = new byte[18];
    RANDOM.nextBytes(random);
    return BASE64.encodeToString(random);
  }

  private String clientFirstBare() {
    // The user name was sent at startup; PostgreSQL ignores the one here.
    return "n=,r=" + nonce;
  }

  /** The first message. */
  public String first() {
    return header + clientFirstBare();
  }

  /**
   * The answer to the server's first message. Nothing is computed before the message was checked.
   */
  public String answer(String serverFirst) {
    String[] fields = serverFirst.split(",");
    if (fields.length < 3
        || !fields[0].startsWith("r=")
        || !fields[1].startsWith("s=")
        || !fields[2].startsWith("i=")) {
      throw new ConnectionException("the server's SCRAM message is malformed");
    }
    String serverNonce = fields[0].substring(2);
    if (!serverNonce.startsWith(nonce) || serverNonce.length() == nonce.length()) {
      throw new ConnectionException(
          "the server's SCRAM nonce does not begin with ours; this may be an attack");
    }
    byte[] salt = decode(fields[1].substring(2));
    int iterations = iterations(fields[2].substring(2));
    byte[] gs2 = header.getBytes(StandardCharsets.US_ASCII);
    byte[] channel = concat(gs2, binding);
    String withoutProof = "c=" + BASE64.encodeToString(channel) + ",r=" + serverNonce;
    authMessage = clientFirstBare() + "," + serverFirst + "," + withoutProof;
    saltedPassword =
        stretch(Saslprep.prepare(password).getBytes(StandardCharsets.UTF_8), salt, iterations);
    byte[] clientKey = hmac(saltedPassword, "Client Key");
    byte[] signature = hmac(sha256(clientKey), authMessage);
    for (int i = 0; i < clientKey.length; i++) {
      clientKey[i] ^= signature[i];
    }
    return withoutProof + ",p=" + BASE64.encodeToString(clientKey);
  }

  private int iterations(String text) {
    int iterations;
    try {
      iterations = Integer.parseInt(text);
    } catch (NumberFormatException e) {
      throw new ConnectionException("the server's SCRAM iteration count is not a number");
    }
    if (iterations < 1 || iterations > maxIterations) {
      throw new ConnectionException(
          "the server asks for "
              + iterations
              + " SCRAM iterations; max_scram_iterations allows 1 to "
              + maxIterations);
    }
    return iterations;
  }

  /** Checks that the server knows the password too. */
  public void verify(String serverFinal) {
    if (authMessage == null) {
      throw new ConnectionException("the server ended SCRAM before it had begun");
    }
    if (!serverFinal.startsWith("v=")) {
      throw new ConnectionException("the server refused SCRAM authentication");
    }
    byte[] expected = hmac(hmac(saltedPassword, "Server Key"), authMessage);
    String signature = serverFinal.substring(2).split(",", 2)[0];
    if (!MessageDigest.isEqual(expected, decode(signature))) {
      throw new ConnectionException(
          "the server does not know the password it asked for; this may be an attack");
    }
  }

  private static byte[] decode(String text) {
    try {
      return Base64.getDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      throw new ConnectionException("the server's SCRAM message is not valid base64");
    }
  }

  private static byte[] stretch(byte[] password, byte[] salt, int iterations) {
    Mac mac = mac(password);
    mac.update(salt);
    byte[] block = mac.doFinal(new byte[] {0, 0, 0, 1});
    byte[] result = block.clone();
    for (int i = 1; i < iterations; i++) {
      block = mac.doFinal(block);
      for (int j = 0; j < result.length; j++) {
        result[j] ^= block[j];
      }
    }
    return result;
  }

  private static Mac mac(byte[] key) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      // An empty key is legal in HMAC but not in the JDK; a zero byte is the same key after
      // padding.
      mac.init(new SecretKeySpec(key.length == 0 ? new byte[1] : key, "HmacSHA256"));
      return mac;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has HmacSHA256", e);
    }
  }

  private static byte[] hmac(byte[] key, String text) {
    return mac(key).doFinal(text.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  private static byte[] concat(byte[] first, byte[] second) {
    byte[] both = new byte[first.length + second.length];
    System.arraycopy(first, 0, both, 0, first.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }
}
