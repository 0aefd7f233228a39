package dev.howdah.pg;

import static java.util.Map.entry;

import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The parameters of libpq that are no settings here. Those that change nothing are accepted, so
 * that a connection string that works elsewhere works here too; those whose promise would not be
 * kept are refused by name.
 */
final class LibpqParameters {
  private static final List<String> ANY = List.of();

  /** What is accepted, and the values for which this client does what they ask anyway. */
  private static final Map<String, List<String>> HARMLESS =
      Map.ofEntries(
          entry("keepalives", ANY),
          entry("keepalives_idle", ANY),
          entry("keepalives_interval", ANY),
          entry("keepalives_count", ANY),
          entry("tcp_user_timeout", ANY),
          entry("sslcompression", ANY),
          entry("krbsrvname", ANY),
          entry("gsslib", ANY),
          entry("client_encoding", List.of("utf8", "utf-8", "unicode", "auto")),
          entry("gssencmode", List.of("disable", "prefer")),
          entry("gssdelegation", List.of("0")),
          entry("sslsni", List.of("1")),
          entry("sslnegotiation", List.of("postgres")),
          entry("sslcertmode", List.of("allow")),
          entry("load_balance_hosts", List.of("disable")),
          entry("replication", List.of("false", "off", "no", "0")),
          entry("min_protocol_version", List.of("3.0")),
          entry("max_protocol_version", List.of("3.0", "3.2", "latest")));

  private static final String NOT_KEPT = "what it asks for would not be kept";
  private static final String NOT_READ =
      "no service file is read; name host, dbname and the rest themselves";

  /** What is refused whatever its value, and why. */
  private static final Map<String, String> REFUSED =
      Map.ofEntries(
          entry(
              "require_auth",
              NOT_KEPT
                  + "; channel_binding=require asks for SCRAM-SHA-256-PLUS, and a password is never"
                  + " sent in clear text unless allow_cleartext_password is set"),
          entry("sslcrl", NOT_KEPT),
          entry("sslcrldir", NOT_KEPT),
          entry(
              "ssl_min_protocol_version",
              NOT_KEPT
                  + "; the JDK's jdk.tls.disabledAlgorithms says which versions of TLS are spoken"),
          entry(
              "ssl_max_protocol_version",
              NOT_KEPT
                  + "; the JDK's jdk.tls.disabledAlgorithms says which versions of TLS are spoken"),
          entry("requirepeer", NOT_KEPT),
          entry("requiressl", NOT_KEPT + "; sslmode=require does"),
          entry("sslpassword", "sslkey must be a PKCS #8 key without a password"),
          entry("service", NOT_READ));

  /** The variables of the environment by which libpq is told some of these. */
  private static final Map<String, String> VARIABLES =
      Map.ofEntries(
          entry("PGREQUIREAUTH", "require_auth"),
          entry("PGSSLCRL", "sslcrl"),
          entry("PGSSLCRLDIR", "sslcrldir"),
          entry("PGSSLMINPROTOCOLVERSION", "ssl_min_protocol_version"),
          entry("PGSSLMAXPROTOCOLVERSION", "ssl_max_protocol_version"),
          entry("PGREQUIREPEER", "requirepeer"),
          entry("PGREQUIRESSL", "requiressl"),
          entry("PGSERVICE", "service"),
          entry("PGGSSENCMODE", "gssencmode"),
          entry("PGSSLCERTMODE", "sslcertmode"),
          entry("PGSSLNEGOTIATION", "sslnegotiation"));

  private LibpqParameters() {}

  /**
   * Whether it is such a parameter with a value that changes nothing; an IllegalArgumentException
   * if it is one that is refused.
   */
  static boolean accepts(String name, String value) {
    String refusal = REFUSED.get(name);
    if (refusal != null) {
      throw refused(name, refusal);
    }
    List<String> values = HARMLESS.get(name);
    if (values == null) {
      return false;
    }
    if (!values.isEmpty() && !values.contains(value.toLowerCase(Locale.ROOT))) {
      throw refused(name + "=" + value, "of its values " + values + " can be had");
    }
    return true;
  }

  /** Refuses variables of the environment that libpq would obey. */
  static void check(Map<String, String> environment) {
    VARIABLES.forEach(
        (variable, name) -> {
          String value = environment.get(variable);
          if (value != null && !value.isEmpty()) {
            try {
              accepts(name, value);
            } catch (IllegalArgumentException e) {
              throw new IllegalArgumentException(
                  "the environment has " + variable + ": " + e.getMessage());
            }
          }
        });
  }

  private static IllegalArgumentException refused(String parameter, String why) {
    return new IllegalArgumentException("libpq's " + parameter + " is not supported: " + why);
  }
}
