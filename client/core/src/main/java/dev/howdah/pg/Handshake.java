package dev.howdah.pg;

import dev.howdah.pg.wire.SocketTransport;
import dev.howdah.pg.wire.Transport;
import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Opens a session: tries the hosts, agrees on TLS, authenticates. */
final class Handshake {
  private static final int PROTOCOL = 3 << 16;
  private static final int TLS_REQUEST = 80_877_103;
  private static final int CANCEL_REQUEST = 80_877_102;

  private Handshake() {}

  /** One address of one host, and whether to speak TLS there. */
  record Endpoint(Config.Address host, SocketAddress socket, String mode, boolean chosen) {
    boolean wantsTls() {
      return !mode.equals("disable");
    }

    boolean needsTls() {
      return mode.equals("require") || mode.startsWith("verify-");
    }

    Endpoint with(String other) {
      return new Endpoint(host, socket, other, chosen);
    }
  }

  /** Connects to the first host that answers and is of the kind that is wanted. */
  static Session open(Config config) {
    List<String> failures = new ArrayList<>();
    PgException last = null;
    String target = config.text(Setting.TARGET_SESSION_ATTRS);
    List<String> passes =
        target.equals("prefer-standby") ? List.of("standby", "any") : List.of(target);
    for (String pass : passes) {
      for (Config.Address address : config.addresses()) {
        try {
          return openHost(config, address, pass);
        } catch (PgException e) {
          if (!triesNext(e)) {
            throw e;
          }
          failures.add(address.host() + " port " + address.port() + ": " + e.getMessage());
          last = e;
          if (config.addresses().size() == 1 && passes.size() == 1) {
            throw e;
          }
        }
      }
    }
    throw new ConnectionException("no host could be used: " + String.join("; ", failures), last);
  }

  /**
   * Whether another host may be tried: a server that refuses us has answered for all, unless it is
   * only starting or ending.
   */
  private static boolean triesNext(PgException e) {
    return e instanceof ServerException refusal
        ? refusal.sqlState().equals("57P03")
        : !(e instanceof AuthenticationException);
  }

  private static Session openHost(Config config, Config.Address address, String target) {
    PgException told = null;
    for (SocketAddress socket : resolve(address)) {
      Endpoint endpoint = endpoint(config, address, socket);
      try {
        return openEndpoint(config, endpoint, target);
      } catch (AuthenticationException e) {
        throw e;
      } catch (ConnectionException e) {
        told = told == null ? e : moreTelling(told, e);
      }
    }
    throw told;
  }

  /**
   * Of two failures at addresses of one host: what happened at one that was reached, rather than
   * that none is there.
   */
  private static PgException moreTelling(PgException earlier, PgException later) {
    PgException told = isUnreachable(earlier) ? later : earlier;
    told.addSuppressed(told == later ? earlier : later);
    return told;
  }

  private static boolean isUnreachable(PgException e) {
    return e.getCause() instanceof ConnectException
        || e.getCause() instanceof NoRouteToHostException;
  }

  private static List<SocketAddress> resolve(Config.Address address) {
    if (address.isUnix()) {
      String folder = address.host();
      if (folder.startsWith("@")) {
        throw new ConnectionException(
            "UNIX sockets without a file, such as " + folder + ", are not supported by the JDK");
      }
      return List.of(UnixDomainSocketAddress.of(folder + "/.s.PGSQL." + address.port()));
    }
    try {
      List<SocketAddress> sockets = new ArrayList<>();
      for (InetAddress found :
          InetAddress.getAllByName(address.number() != null ? address.number() : address.host())) {
        sockets.add(new InetSocketAddress(found, address.port()));
      }
      return sockets;
    } catch (UnknownHostException e) {
      throw new ConnectionException("the host " + address.host() + " is not known", e);
    }
  }

  /** Without sslmode: no TLS on this machine, and all of it elsewhere. */
  private static Endpoint endpoint(Config config, Config.Address address, SocketAddress socket) {
    String mode = config.sslMode();
    if (address.isUnix()) {
      return new Endpoint(address, socket, "disable", true);
    }
    if (mode != null) {
      return new Endpoint(address, socket, mode, true);
    }
    boolean local = ((InetSocketAddress) socket).getAddress().isLoopbackAddress();
    return new Endpoint(address, socket, local ? "disable" : "verify-full", false);
  }

  /**
   * The modes allow and prefer have a second try, with TLS and without, when the server refuses the
   * first; prefer also when TLS fails.
   */
  private static Session openEndpoint(Config config, Endpoint endpoint, String target) {
    String second =
        endpoint.mode().equals("allow")
            ? "prefer"
            : endpoint.mode().equals("prefer") ? "disable" : null;
    Endpoint first = endpoint.mode().equals("allow") ? endpoint.with("disable") : endpoint;
    try {
      return attempt(config, first, target);
    } catch (ServerException | TlsException e) {
      if (second == null || e instanceof ServerException && !e.sqlState().startsWith("28")) {
        throw e;
      }
      try {
        return attempt(config, endpoint.with(second), target);
      } catch (PgException ignored) {
        // The first answer says more than the second try's.
        throw e;
      }
    }
  }

  /** Connects, and asks a server what it is, within connect_timeout. */
  private static Session attempt(Config config, Endpoint endpoint, String target) {
    long deadline = deadline(config);
    try {
      Wire wire = connect(config, endpoint, deadline);
      try {
        startup(config, wire, deadline);
        return TargetSession.check(
            new Session(config, endpoint, wire).start(deadline), target, deadline);
      } catch (RuntimeException e) {
        wire.close();
        throw e;
      }
    } catch (PgTimeoutException e) {
      throw new ConnectionException(
          "connecting to " + endpoint.socket() + " took longer than connect_timeout", e);
    }
  }

  private static long deadline(Config config) {
    long own =
        config.connectTimeout().isZero()
            ? Long.MAX_VALUE
            : System.nanoTime() + config.connectTimeout().toNanos();
    long latest = config.latest();
    return own == Long.MAX_VALUE || latest != Long.MAX_VALUE && latest - own < 0 ? latest : own;
  }

  private static Wire connect(Config config, Endpoint endpoint, long deadline) {
    Transport socket = reach(endpoint, deadline);
    try {
      Wire wire = new Wire(socket, config.maxMessageBytes());
      if (endpoint.wantsTls()) {
        agreeOnTls(config, endpoint, wire, deadline);
      }
      return wire;
    } catch (RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  private static Transport reach(Endpoint endpoint, long deadline) {
    try {
      return SocketTransport.connect(endpoint.socket(), deadline);
    } catch (IOException e) {
      throw new ConnectionException(
          "cannot connect to " + endpoint.socket() + ": " + e.getMessage(), e);
    }
  }

  private static String advice(Endpoint endpoint) {
    if (endpoint.chosen() || !endpoint.needsTls()) {
      return "";
    }
    return "\n  No sslmode is set, and "
        + endpoint.host().host()
        + " is another machine, so its certificate must be valid (sslmode=verify-full). sslrootcert"
        + " names the file of roots to trust; sslmode=require encrypts without asking who the"
        + " server is; sslmode=disable does not encrypt.";
  }

  private static void agreeOnTls(Config config, Endpoint endpoint, Wire wire, long deadline) {
    wire.output().int4(8);
    wire.output().int4(TLS_REQUEST);
    wire.flush(deadline);
    int answer = wire.readByte(deadline);
    if (answer == 'S') {
      wire.replaceTransport(plain -> secured(config, endpoint, plain, deadline));
    } else if (answer != 'N') {
      throw new ConnectionException(
          "the server answered a request for TLS with "
              + Wire.name(answer)
              + "; is it PostgreSQL?");
    } else if (endpoint.needsTls()) {
      throw new ConnectionException(
          "the server has no TLS, and sslmode is " + endpoint.mode() + advice(endpoint));
    }
  }

  private static Transport secured(
      Config config, Endpoint endpoint, Transport plain, long deadline) {
    try {
      return TlsSettings.secure(
          config, endpoint.mode(), endpoint.host().host(), endpoint.host().port(), plain, deadline);
    } catch (InterruptedIOException e) {
      throw new ConnectionException(
          "cannot connect to " + endpoint.socket() + ": " + e.getMessage(), e);
    } catch (IOException e) {
      throw new TlsException(
          "TLS with " + endpoint.socket() + " failed: " + e.getMessage() + advice(endpoint), e);
    }
  }

  private static void startup(Config config, Wire wire, long deadline) {
    WireOutput out = wire.output();
    int start = out.reserveInt4();
    out.int4(PROTOCOL);
    parameter(out, "user", config.user());
    parameter(out, "database", config.database());
    parameter(out, "client_encoding", "UTF8");
    parameter(out, "DateStyle", "ISO");
    parameter(out, "application_name", config.applicationName());
    parameter(out, "options", config.text(Setting.OPTIONS));
    out.int1(0);
    out.end(start);
    wire.flush(deadline);
  }

  private static void parameter(WireOutput out, String name, String value) {
    if (value != null) {
      out.cstring(name);
      out.cstring(value);
    }
  }

  /**
   * Asks the server to cancel what a session runs; returns when the server has done so, or false if
   * it has not said so within the limit. An interrupt waits meanwhile: the query that is cancelled
   * is the answer to it.
   */
  static boolean cancel(
      Config config, Endpoint endpoint, int process, byte[] secret, Duration limit) {
    boolean interrupted = Thread.interrupted();
    try {
      return requestCancel(config, endpoint, process, secret, limit);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static boolean requestCancel(
      Config config, Endpoint endpoint, int process, byte[] secret, Duration limit) {
    long deadline = System.nanoTime() + Math.max(1, limit.toNanos());
    Wire wire = connect(config, endpoint, deadline);
    try {
      int start = wire.output().reserveInt4();
      wire.output().int4(CANCEL_REQUEST);
      wire.output().int4(process);
      wire.output().bytes(secret);
      wire.output().end(start);
      wire.flush(deadline);
      // The server sends nothing; it closes the connection once it has signalled the session.
      return wire.awaitEnd(deadline);
    } catch (ConnectionException ignored) {
      // That it closed is the answer.
      return true;
    } finally {
      wire.close();
    }
  }
}
