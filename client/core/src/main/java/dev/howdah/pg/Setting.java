package dev.howdah.pg;

import java.util.Locale;

/**
 * Every setting of a connection that is text: its name, its variable in the environment and its
 * default.
 */
enum Setting {
  HOST("host", "PGHOST", null),
  HOSTADDR("hostaddr", "PGHOSTADDR", null),
  PORT("port", "PGPORT", "5432"),
  USER("user", "PGUSER", null),
  PASSWORD("password", "PGPASSWORD", null),
  DATABASE("dbname", "PGDATABASE", null),
  PASSFILE("passfile", "PGPASSFILE", null),
  OPTIONS("options", "PGOPTIONS", null),
  APPLICATION_NAME("application_name", "PGAPPNAME", null),
  FALLBACK_APPLICATION_NAME("fallback_application_name", null, "howdah"),
  CONNECT_TIMEOUT("connect_timeout", "PGCONNECT_TIMEOUT", "10"),
  TARGET_SESSION_ATTRS("target_session_attrs", "PGTARGETSESSIONATTRS", "any"),
  SSLMODE("sslmode", "PGSSLMODE", null),
  SSLROOTCERT("sslrootcert", "PGSSLROOTCERT", null),
  SSLCERT("sslcert", "PGSSLCERT", null),
  SSLKEY("sslkey", "PGSSLKEY", null),
  CHANNEL_BINDING("channel_binding", "PGCHANNELBINDING", "prefer"),
  QUERY_TIMEOUT("query_timeout", null, "0"),
  CANCEL_TIMEOUT("cancel_timeout", null, "10"),
  STATEMENT_CACHE_SIZE("statement_cache_size", null, "256"),
  STATEMENT_CACHE_BYTES("statement_cache_bytes", null, "1048576"),
  MAX_MESSAGE_BYTES("max_message_bytes", null, "1073741823"),
  MAX_SCRAM_ITERATIONS("max_scram_iterations", null, "1000000"),
  ALLOW_CLEARTEXT_PASSWORD("allow_cleartext_password", null, "false");

  final String key;
  final String variable;
  final String standard;

  Setting(String key, String variable, String standard) {
    this.key = key;
    this.variable = variable;
    this.standard = standard;
  }

  /**
   * Finds a setting by name; case, underscores and hyphens do not matter, so connectTimeout is one
   * too.
   */
  static Setting find(String name) {
    String plain = plain(name);
    if (plain.equals("database")) {
      return DATABASE;
    }
    for (Setting setting : values()) {
      if (plain(setting.key).equals(plain)) {
        return setting;
      }
    }
    return null;
  }

  private static String plain(String name) {
    return name.replace("_", "").replace("-", "").toLowerCase(Locale.ROOT);
  }
}
