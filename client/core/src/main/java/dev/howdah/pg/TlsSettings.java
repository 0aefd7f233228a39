package dev.howdah.pg;

import dev.howdah.pg.wire.TlsTransport;
import dev.howdah.pg.wire.Transport;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/** Makes TLS as the settings want it. */
final class TlsSettings {
  private static final char[] NO_PASSWORD = {};

  private TlsSettings() {}

  /** Secures a transport after the server has agreed to it. */
  static Transport secure(
      Config config, String mode, String host, int port, Transport plain, long deadline)
      throws IOException {
    try {
      Path roots = rootCertificates(config);
      if (mode.equals("verify-ca") && roots == null) {
        // The JDK trusts whom anyone may buy a certificate from; without its name checked that
        // proves nothing.
        throw new GeneralSecurityException(
            "sslmode=verify-ca needs a file of roots, and there is no ~/.postgresql/root.crt;"
                + " sslrootcert names one, sslmode=verify-full trusts the JDK's and checks the"
                + " host's name too");
      }
      boolean verify = mode.startsWith("verify-") || mode.equals("require") && roots != null;
      TrustManager[] trust = verify ? trusting(roots) : new TrustManager[] {new Anyone()};
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(clientKey(config), trust, null);
      SSLEngine engine = context.createSSLEngine(host, port);
      SSLParameters parameters = engine.getSSLParameters();
      if (mode.equals("verify-full")) {
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
      }
      engine.setSSLParameters(parameters);
      return TlsTransport.handshake(plain, engine, deadline);
    } catch (GeneralSecurityException e) {
      throw new IOException("TLS cannot be set up: " + e.getMessage(), e);
    }
  }

  /**
   * The file of trusted roots; null for those of the JDK. As with libpq, a file in the home folder
   * counts.
   */
  private static Path rootCertificates(Config config) {
    if (config.trustsSystem()) {
      return null;
    }
    String named = config.text(Setting.SSLROOTCERT);
    if (named != null) {
      return Path.of(named);
    }
    String home = System.getProperty("user.home");
    Path usual = home == null ? null : Path.of(home, ".postgresql", "root.crt");
    return usual != null && Files.isRegularFile(usual) ? usual : null;
  }

  private static TrustManager[] trusting(Path roots) throws IOException, GeneralSecurityException {
    KeyStore store = null;
    if (roots != null) {
      store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, NO_PASSWORD);
      int number = 0;
      for (Certificate certificate : certificates("sslrootcert", roots)) {
        store.setCertificateEntry("root" + number++, certificate);
      }
    }
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return factory.getTrustManagers();
  }

  private static Collection<? extends Certificate> certificates(String setting, Path file)
      throws IOException, GeneralSecurityException {
    try (InputStream in = Files.newInputStream(file)) {
      Collection<? extends Certificate> found =
          CertificateFactory.getInstance("X.509").generateCertificates(in);
      if (!found.isEmpty()) {
        return found;
      }
    } catch (NoSuchFileException e) {
      throw new GeneralSecurityException(
          "there is no file " + file + ", which " + setting + " names", e);
    }
    throw new GeneralSecurityException(
        "the file " + file + ", which " + setting + " names, has no certificate");
  }

  private static KeyManager[] clientKey(Config config)
      throws IOException, GeneralSecurityException {
    String certificate = config.text(Setting.SSLCERT);
    String key = config.text(Setting.SSLKEY);
    if (certificate == null || key == null) {
      return null;
    }
    Certificate[] chain = certificates("sslcert", Path.of(certificate)).toArray(Certificate[]::new);
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, NO_PASSWORD);
    store.setKeyEntry(
        "client",
        privateKey(Path.of(key), chain[0].getPublicKey().getAlgorithm()),
        NO_PASSWORD,
        chain);
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, NO_PASSWORD);
    return factory.getKeyManagers();
  }

  private static PrivateKey privateKey(Path file, String algorithm)
      throws IOException, GeneralSecurityException {
    String pem = Files.readString(file, StandardCharsets.US_ASCII);
    int begin = pem.indexOf("-----BEGIN PRIVATE KEY-----");
    int end = pem.indexOf("-----END PRIVATE KEY-----");
    if (begin < 0 || end < begin) {
      throw new GeneralSecurityException(
          "sslkey "
              + file
              + " must be an unencrypted PKCS #8 key in PEM form"
              + " (openssl pkcs8 -topk8 -nocrypt makes one)");
    }
    byte[] encoded = Base64.getMimeDecoder().decode(pem.substring(begin + 27, end));
    return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(encoded));
  }

  /** For the modes that encrypt and do not ask who the server is. */
  private static final class Anyone extends X509ExtendedTrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
