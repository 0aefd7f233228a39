import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * Sends bodies of some lengths by java.net.http, or by HttpURLConnection, and prints what each is
 * answered: Client.java 1|2|old URL AUTHORITY LENGTH...
 */
final class Client {
  public static void main(String[] arguments) throws Exception {
    SSLContext context = trusting(Path.of(arguments[2]));
    URI url = URI.create(arguments[1]);
    for (int place = 3; place < arguments.length; place++) {
      long length = Long.parseLong(arguments[place]);
      try {
        boolean isOld = arguments[0].equals("old");
        System.out.println(
            isOld ? old(url, context, length) : send(arguments[0], url, context, length));
      } catch (Exception error) {
        System.out.println(error);
      }
    }
    System.exit(0);
  }

  private static int send(String version, URI url, SSLContext context, long length)
      throws Exception {
    HttpClient.Version wanted =
        version.equals("2") ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1;
    HttpClient client = HttpClient.newBuilder().sslContext(context).version(wanted).build();
    HttpRequest request =
        HttpRequest.newBuilder(url)
            .POST(
                BodyPublishers.fromPublisher(
                    BodyPublishers.ofInputStream(() -> new Zeros(length)), length))
            .build();
    return client.send(request, BodyHandlers.ofString()).statusCode();
  }

  private static int old(URI url, SSLContext context, long length) throws Exception {
    HttpURLConnection connection = (HttpURLConnection) url.toURL().openConnection();
    if (connection instanceof HttpsURLConnection secured) {
      secured.setSSLSocketFactory(context.getSocketFactory());
    }
    connection.setDoOutput(true);
    connection.setFixedLengthStreamingMode(length);
    try (OutputStream out = connection.getOutputStream()) {
      new Zeros(length).transferTo(out);
    }
    return connection.getResponseCode();
  }

  private static SSLContext trusting(Path file) throws Exception {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null);
    try (InputStream authority = Files.newInputStream(file)) {
      trusted.setCertificateEntry(
          "authority", CertificateFactory.getInstance("X.509").generateCertificate(authority));
    }
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return context;
  }

  private static final class Zeros extends InputStream {
    private long left;

    Zeros(long length) {
      left = length;
    }

    @Override
    public int read() {
      return left-- > 0 ? 0 : -1;
    }

    @Override
    public int read(byte[] into, int from, int length) {
      if (left <= 0) {
        return -1;
      }
      int count = (int) Math.min(left, length);
      left -= count;
      return count;
    }
  }
}
