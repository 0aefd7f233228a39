package dev.howdah.pg;

import dev.howdah.pg.wire.Scram;
import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Answers the server's requests for a password. */
final class Authentication {
  private static final int OK = 0;
  private static final int CLEARTEXT = 3;
  private static final int MD5 = 5;
  private static final int SASL = 10;
  private static final int SASL_CONTINUE = 11;
  private static final int SASL_FINAL = 12;

  private final Config config;
  private final Config.Address address;
  private final Wire wire;
  private final long deadline;
  private Scram scram;
  private boolean bound;
  private boolean verified;

  Authentication(Config config, Config.Address address, Wire wire, long deadline) {
    this.config = config;
    this.address = address;
    this.wire = wire;
    this.deadline = deadline;
  }

  /** Handles one authentication message; returns whether the server is satisfied. */
  boolean handle() {
    try {
      return answer(wire.int4());
    } catch (ConnectionException e) {
      // While the connection stands, it is not what failed.
      throw wire.transport().isOpen() ? new AuthenticationException(e) : e;
    }
  }

  private boolean answer(int request) {
    switch (request) {
      case OK -> {
        checkComplete();
        return true;
      }
      case CLEARTEXT -> cleartext();
      case MD5 -> md5();
      case SASL -> beginSasl();
      case SASL_CONTINUE -> continueSasl();
      case SASL_FINAL -> finishSasl();
      default ->
          throw new ConnectionException(
              "the server asks for authentication of kind "
                  + request
                  + ", which is not supported; SCRAM-SHA-256, MD5 and a cleartext password are");
    }
    return false;
  }

  /** A server that skips what it owes us may not be the one that knows the password. */
  private void checkComplete() {
    if (scram != null && !verified) {
      throw new ConnectionException(
          "the server ended SCRAM without proving that it knows the password; this may be an"
              + " attack");
    }
    if (required() && !bound) {
      throw new ConnectionException(
          "channel_binding=require, but the server did not authenticate with SCRAM-SHA-256-PLUS");
    }
  }

  private boolean required() {
    return config.text(Setting.CHANNEL_BINDING).equals("require");
  }

  private void refuseWithoutBinding(String method) {
    if (required()) {
      throw new ConnectionException("channel_binding=require, but the server asks for " + method);
    }
  }

  private String password() {
    String password = config.text(Setting.PASSWORD);
    if (password == null) {
      password = PasswordFile.find(config, address);
    }
    if (password == null) {
      throw new ConnectionException(
          "the server asks for a password; give one by password, PGPASSWORD or a passfile");
    }
    return password;
  }

  private void send(String text) {
    WireOutput out = wire.output();
    int message = out.begin('p');
    out.cstring(text);
    out.end(message);
    wire.flush(deadline);
  }

  private void cleartext() {
    refuseWithoutBinding("a cleartext password");
    if (!config.allowCleartextPassword()) {
      throw new ConnectionException(
          "the server asks for the password in clear text; allow_cleartext_password=true allows"
              + " it");
    }
    send(password());
  }

  private void md5() {
    refuseWithoutBinding("MD5");
    byte[] salt = wire.rest();
    String inner = md5((password() + config.user()).getBytes(StandardCharsets.UTF_8), new byte[0]);
    send("md5" + md5(inner.getBytes(StandardCharsets.US_ASCII), salt));
  }

  private static String md5(byte[] first, byte[] second) {
    try {
      MessageDigest digest = MessageDigest.getInstance("MD5");
      digest.update(first);
      return HexFormat.of().formatHex(digest.digest(second));
    } catch (NoSuchAlgorithmException e) {
      throw new ConnectionException("this JDK has MD5 disabled, which the server asks for", e);
    }
  }

  private void beginSasl() {
    List<String> mechanisms = new ArrayList<>();
    while (wire.remaining() > 1) {
      mechanisms.add(wire.cstring());
    }
    byte[] binding =
        config.text(Setting.CHANNEL_BINDING).equals("disable")
            ? null
            : wire.transport().channelBinding();
    bound = binding != null && mechanisms.contains("SCRAM-SHA-256-PLUS");
    if (!bound) {
      refuseWithoutBinding(mechanisms + " and no channel binding");
      if (!mechanisms.contains("SCRAM-SHA-256")) {
        throw new ConnectionException(
            "the server offers " + mechanisms + "; SCRAM-SHA-256 is supported");
      }
    }
    scram =
        new Scram(password(), config.maxScramIterations(), bound ? binding : null, binding != null);
    byte[] first = scram.first().getBytes(StandardCharsets.UTF_8);
    WireOutput out = wire.output();
    int message = out.begin('p');
    out.cstring(bound ? "SCRAM-SHA-256-PLUS" : "SCRAM-SHA-256");
    out.int4(first.length);
    out.bytes(first);
    out.end(message);
    wire.flush(deadline);
  }

  private Scram begun() {
    if (scram == null) {
      throw new ConnectionException("the server continues a SCRAM exchange that was not begun");
    }
    return scram;
  }

  private void continueSasl() {
    String answer = begun().answer(new String(wire.rest(), StandardCharsets.UTF_8));
    WireOutput out = wire.output();
    int message = out.begin('p');
    out.text(answer);
    out.end(message);
    wire.flush(deadline);
  }

  private void finishSasl() {
    begun().verify(new String(wire.rest(), StandardCharsets.UTF_8));
    verified = true;
  }
}
