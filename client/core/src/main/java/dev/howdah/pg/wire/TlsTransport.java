package dev.howdah.pg.wire;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.X509Certificate;
import java.security.spec.PSSParameterSpec;
import java.util.Locale;
import java.util.concurrent.locks.ReentrantLock;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLException;

/** TLS over another transport. */
public final class TlsTransport implements Transport {
  private final Transport inner;
  private final SSLEngine engine;

  /** Bytes from the network that are not decrypted yet; in write mode between calls. */
  private ByteBuffer received;

  /** Decrypted bytes that nobody has read yet; in read mode between calls. */
  private ByteBuffer plain;

  /** Encrypted bytes that are not sent yet; in read mode between calls. */
  private final ByteBuffer sending;

  private boolean ended;

  /**
   * The engine and the buffers serve one thread at a time; nobody waits for the network while
   * holding this.
   */
  private final ReentrantLock lock = new ReentrantLock();

  private TlsTransport(Transport inner, SSLEngine engine) {
    this.inner = inner;
    this.engine = engine;
    int packet = engine.getSession().getPacketBufferSize();
    this.received = ByteBuffer.allocate(packet * 2);
    this.plain = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize()).flip();
    this.sending = ByteBuffer.allocate(packet * 4).flip();
  }

  /** Runs the handshake; the engine says what is verified. */
  public static TlsTransport handshake(Transport inner, SSLEngine engine, long deadline)
      throws IOException {
    TlsTransport transport = new TlsTransport(inner, engine);
    engine.setUseClientMode(true);
    engine.beginHandshake();
    transport.finishHandshake(deadline);
    return transport;
  }

  private void finishHandshake(long deadline) throws IOException {
    while (true) {
      switch (engine.getHandshakeStatus()) {
        case NEED_TASK -> runTasks();
        case NEED_WRAP -> {
          encrypt(ByteBuffer.allocate(0));
          waitUntilSent(deadline);
        }
        case NEED_UNWRAP, NEED_UNWRAP_AGAIN -> {
          if (!decrypt()) {
            waitForMore(deadline);
          }
        }
        default -> {
          return;
        }
      }
    }
  }

  private void runTasks() {
    Runnable task;
    while ((task = engine.getDelegatedTask()) != null) {
      task.run();
    }
  }

  private void waitUntilSent(long deadline) throws IOException {
    while (!inner.write(sending)) {
      if (inner.await(WRITE, deadline) == 0) {
        failIfLate(deadline);
      }
    }
  }

  private void waitForMore(long deadline) throws IOException {
    while (true) {
      int count = fill();
      if (count < 0) {
        throw new SSLException("the server closed the connection during the TLS handshake");
      }
      if (count > 0) {
        return;
      }
      if (inner.await(READ, deadline) == 0) {
        failIfLate(deadline);
      }
    }
  }

  private static void failIfLate(long deadline) throws IOException {
    if (deadline != Long.MAX_VALUE && System.nanoTime() - deadline >= 0) {
      throw new SocketTimeoutException("the TLS handshake took longer than connect_timeout");
    }
    if (Thread.currentThread().isInterrupted()) {
      throw new InterruptedIOException("the thread was interrupted during the TLS handshake");
    }
  }

  private int fill() throws IOException {
    return inner.read(received);
  }

  /** Decrypts one record if a whole one is there; returns whether anything happened. */
  private boolean decrypt() throws IOException {
    received.flip();
    plain.compact();
    try {
      SSLEngineResult result = engine.unwrap(received, plain);
      switch (result.getStatus()) {
        case OK -> {
          return true;
        }
        case CLOSED -> {
          ended = true;
          return true;
        }
        case BUFFER_OVERFLOW -> {
          plain = grown(plain, engine.getSession().getApplicationBufferSize());
          return true;
        }
        default -> {
          return false;
        }
      }
    } finally {
      received.compact();
      plain.flip();
      if (!received.hasRemaining()) {
        received = grown(received, engine.getSession().getPacketBufferSize());
      }
    }
  }

  private static ByteBuffer grown(ByteBuffer buffer, int more) {
    ByteBuffer larger = ByteBuffer.allocate(buffer.capacity() + more);
    buffer.flip();
    return larger.put(buffer);
  }

  private SSLEngineResult encrypt(ByteBuffer source) throws IOException {
    sending.compact();
    try {
      return engine.wrap(source, sending);
    } finally {
      sending.flip();
    }
  }

  @Override
  public int read(ByteBuffer target) throws IOException {
    lock.lock();
    try {
      return readDecrypted(target);
    } finally {
      lock.unlock();
    }
  }

  private int readDecrypted(ByteBuffer target) throws IOException {
    while (!plain.hasRemaining()) {
      if (ended) {
        return -1;
      }
      if (!decrypt()) {
        int count = fill();
        if (count <= 0) {
          return count;
        }
      }
      afterHandshakeMessages();
    }
    int count = Math.min(plain.remaining(), target.remaining());
    target.put(plain.slice(plain.position(), count));
    plain.position(plain.position() + count);
    return count;
  }

  /** TLS 1.3 sends session tickets and key updates between data; both may ask for work. */
  private void afterHandshakeMessages() throws IOException {
    switch (engine.getHandshakeStatus()) {
      case NEED_TASK -> runTasks();
      case NEED_WRAP -> {
        encrypt(ByteBuffer.allocate(0));
        inner.write(sending);
      }
      default -> {}
    }
  }

  @Override
  public boolean write(ByteBuffer source) throws IOException {
    lock.lock();
    try {
      return writeEncrypted(source);
    } finally {
      lock.unlock();
    }
  }

  private boolean writeEncrypted(ByteBuffer source) throws IOException {
    if (!inner.write(sending)) {
      return false;
    }
    while (source.hasRemaining()) {
      SSLEngineResult result = encrypt(source);
      if (result.getStatus() == SSLEngineResult.Status.CLOSED
          || result.bytesConsumed() == 0 && result.bytesProduced() == 0) {
        throw new SSLException("the TLS connection is closed");
      }
      if (!inner.write(sending)) {
        return false;
      }
    }
    return true;
  }

  @Override
  public int await(int operations, long deadline) throws IOException {
    if ((operations & READ) != 0 && plain.hasRemaining()) {
      return READ;
    }
    return inner.await(operations, deadline);
  }

  @Override
  public void wakeUp() {
    inner.wakeUp();
  }

  /**
   * The hash that RFC 5929 defines: the certificate's own signature hash, and SHA-256 where that is
   * MD5 or SHA-1. Null for a certificate that names no hash (Ed25519), for which no binding is
   * defined.
   */
  @Override
  public byte[] channelBinding() {
    try {
      X509Certificate certificate = (X509Certificate) engine.getSession().getPeerCertificates()[0];
      String hash = signatureHash(certificate);
      if (hash == null) {
        return null;
      }
      String name = hash.equals("MD5") || hash.equals("SHA-1") ? "SHA-256" : hash;
      return MessageDigest.getInstance(name).digest(certificate.getEncoded());
    } catch (IOException | GeneralSecurityException e) {
      return null;
    }
  }

  /**
   * The hash that a certificate is signed with: a part of the signature's name, or for RSASSA-PSS a
   * parameter of it.
   */
  private static String signatureHash(X509Certificate certificate)
      throws IOException, GeneralSecurityException {
    String algorithm = certificate.getSigAlgName().toUpperCase(Locale.ROOT);
    String named = hashOf(algorithm);
    if (named != null) {
      return named;
    }
    if (!algorithm.equals("RSASSA-PSS") || certificate.getSigAlgParams() == null) {
      return null;
    }
    AlgorithmParameters parameters = AlgorithmParameters.getInstance(algorithm);
    parameters.init(certificate.getSigAlgParams());
    return parameters.getParameterSpec(PSSParameterSpec.class).getDigestAlgorithm();
  }

  /**
   * The hash that a signature's name begins with, as MessageDigest calls it: SHA-256 of
   * SHA256WITHRSA; null if it names none.
   */
  static String hashOf(String algorithm) {
    int with = algorithm.indexOf("WITH");
    return with < 0 ? null : algorithm.substring(0, with).replaceFirst("^SHA(?!3-)(\\d)", "SHA-$1");
  }

  @Override
  public void close() {
    // A thread that closes does not wait for one that reads.
    if (inner.isOpen() && lock.tryLock()) {
      try {
        engine.closeOutbound();
        encrypt(ByteBuffer.allocate(0));
        inner.write(sending);
      } catch (IOException | RuntimeException ignored) {
        // A farewell only; the socket is closed all the same.
      } finally {
        lock.unlock();
      }
    }
    inner.close();
  }

  @Override
  public boolean isOpen() {
    return inner.isOpen();
  }
}
