package dev.howdah.pg;

import dev.howdah.pg.types.TypeRegistry;
import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * One session with the server: what it says about itself, what it has prepared, what it is doing.
 * Used by one thread at a time, {@link #cancel} and the readers of its state excepted.
 */
final class Session {
  private static final int MOST_SECRET = 256;

  /**
   * What the names and values of the settings may take that the server reports: some hundred times
   * what it does report.
   */
  private static final int MOST_PARAMETER_TEXT = 1 << 20;

  /** What one of them takes beside its text. */
  private static final int PARAMETER = 64;

  final Config config;
  final Wire wire;
  final TypeRegistry types;
  final StatementCache statements;
  final CancelGate gate;
  private final Handshake.Endpoint endpoint;
  private final Map<String, String> parameters = new ConcurrentHashMap<>();
  private long parameterText;
  private volatile Consumer<Notification> notifications = notification -> {};
  private int process;
  private byte[] secret = {};
  private volatile char status = 'I';
  private volatile boolean open = true;

  /**
   * How many times the session was ready outside a transaction: what belongs to a transaction is
   * gone when this has grown.
   */
  private long ended;

  private long portals;

  /** Portals to be closed in the server with the next message that is sent. */
  final List<String> closingPortals = new ArrayList<>();

  private volatile boolean foreignEncoding;

  /**
   * The limit within which the server has not said that it has dealt with a cancel, for which the
   * session was closed; null if there was no such cancel.
   */
  private volatile String cancelUnconfirmed;

  /** Whether something was sent whose end, the server's being ready, has not been read. */
  private boolean awaitingReady;

  /**
   * The notice with which the server has said that it ends the session, or null; it says so where
   * it does not wait for an answer.
   */
  private ServerMessage farewell;

  /**
   * What a handler of notices or notifications threw; kept until the statement has been read to its
   * end.
   */
  private RuntimeException handlerFailure;

  Session(Config config, Handshake.Endpoint endpoint, Wire wire) {
    this.config = config;
    this.endpoint = endpoint;
    this.wire = wire;
    this.types = new TypeRegistry(config.types());
    this.statements =
        new StatementCache(config.statementCacheSize(), config.statementCacheBytes(), wire.lock());
    this.gate = new CancelGate(wire.lock());
    wire.onInterrupt(this::tryCancel);
  }

  /** Authenticates and waits until the server is ready. */
  Session start(long deadline) {
    Authentication authentication = new Authentication(config, endpoint.host(), wire, deadline);
    boolean authenticated = false;
    while (true) {
      int type = wire.next(deadline);
      switch (type) {
        case 'R' -> authenticated = authentication.handle();
        case 'E' -> throw new ServerException(ServerMessage.read(wire), null);
        case 'K' -> key();
        case 'v' -> {}
        case 'Z' -> {
          if (!authenticated) {
            throw new ConnectionException("the server is ready without having authenticated us");
          }
          ready();
          return this;
        }
        default -> {
          if (!handledAside(type)) {
            throw unexpected(type, "while the session starts");
          }
        }
      }
    }
  }

  private void key() {
    process = wire.int4();
    if (wire.remaining() > MOST_SECRET) {
      throw wire.malformed("the key is too long");
    }
    secret = wire.rest();
  }

  /** The error for a message that has no place here. */
  ConnectionException unexpected(int type, String where) {
    close();
    return new ConnectionException(
        "the server sent a message of type "
            + Wire.name(type)
            + " "
            + where
            + "; the connection is closed");
  }

  /**
   * Handles what has come aside of the answer, without waiting; returns whether the answer, too,
   * begins to come.
   */
  boolean isAnswering() {
    try {
      for (int type = wire.arrived(); type != 0; type = wire.arrived()) {
        if (type != 'N' && type != 'S' && type != 'A') {
          return true;
        }
        handledAside(wire.next(Long.MAX_VALUE));
      }
      return false;
    } catch (ConnectionException e) {
      close();
      throw e;
    }
  }

  /** Messages that may come at any time. */
  private boolean handledAside(int type) {
    switch (type) {
      case 'N' -> {
        ServerMessage notice = ServerMessage.read(wire);
        if (notice.sqlState().startsWith("57P")) {
          farewell = notice;
        }
        handle(() -> config.notices().accept(notice));
      }
      case 'S' -> parameter(wire.cstring(), wire.cstring());
      case 'A' -> {
        int sender = wire.int4();
        Notification notification = new Notification(wire.cstring(), wire.cstring(), sender);
        handle(() -> notifications.accept(notification));
      }
      default -> {
        return false;
      }
    }
    return true;
  }

  /**
   * A handler that throws must not tear the stream of messages; its error comes out when that is in
   * order.
   */
  private void handle(Runnable handler) {
    try {
      handler.run();
    } catch (Throwable e) {
      handlerFailure = PgException.unchecked("a handler of notices or notifications failed", e);
    }
  }

  /** What a handler threw since the last time, or null. */
  RuntimeException takeHandlerFailure() {
    RuntimeException failure = handlerFailure;
    handlerFailure = null;
    return failure;
  }

  /** Throws what a handler threw since the last time. */
  void throwHandlerFailure() {
    RuntimeException failure = takeHandlerFailure();
    if (failure != null) {
      throw failure;
    }
  }

  /**
   * Adds what a handler threw while something else went wrong, so that it is not the next
   * statement's.
   */
  void addHandlerFailure(Throwable error) {
    RuntimeException failure = takeHandlerFailure();
    if (failure != null && failure != error) {
      error.addSuppressed(failure);
    }
  }

  private void parameter(String name, String value) {
    String before = parameters.put(name, value);
    parameterText +=
        value.length() - (before == null ? -name.length() - PARAMETER : before.length());
    if (parameterText > MOST_PARAMETER_TEXT) {
      throw wire.malformed(
          "the settings that the server reports are too many or too long, the last being " + name);
    }
    if (name.equals("client_encoding")) {
      foreignEncoding = !value.equals("UTF8") && !value.equals("UNICODE");
    }
  }

  /** Whether a statement has set an encoding other than UTF-8, the one this client speaks. */
  boolean hasForeignEncoding() {
    return foreignEncoding;
  }

  /**
   * Whether statements of several threads may be on their way at once: outside a transaction, in
   * order.
   */
  boolean isReadyToShare() {
    return status == 'I' && !foreignEncoding && isOpen();
  }

  /** The same as {@link #hasForeignEncoding}; asking resets it. */
  boolean takeForeignEncoding() {
    boolean was = foreignEncoding;
    foreignEncoding = false;
    return was;
  }

  /**
   * The type of the next message that belongs to the statement. When the deadline passes, the
   * statement is cancelled and the server has cancel_timeout to say so; only if it does not is the
   * connection closed.
   */
  int receive(Deadline deadline) {
    while (true) {
      try {
        int type = wire.next(deadline.at());
        if (!handledAside(type)) {
          return type;
        }
      } catch (PgTimeoutException e) {
        waitedLong(deadline, e);
      } catch (ConnectionException e) {
        close();
        if (farewell != null) {
          throw new ServerException(farewell, null);
        }
        throw cancelUnconfirmed != null
            ? new ConnectionException(
                "the server did not confirm a cancel within "
                    + cancelUnconfirmed
                    + ", and its signal could still hit another query; the connection is closed",
                e)
            : e;
      }
    }
  }

  private void waitedLong(Deadline deadline, PgTimeoutException e) {
    if (deadline.isOver()) {
      passed(deadline, e);
    } else if (deadline.isDueAgain()) {
      tryCancel();
      deadline.cancelAgainLater();
    } else if (!deadline.repeats() && gate.isCancelWanted()) {
      deadline.cancelAgainLater();
    }
  }

  private void passed(Deadline deadline, PgTimeoutException e) {
    if (deadline.closing()) {
      close();
      throw new ConnectionException(
          "the server did not answer within " + deadline.limit() + "; the connection is closed", e);
    }
    if (deadline.cancelled()) {
      close();
      throw new ConnectionException(
          "the query passed its limit of "
              + deadline.limit()
              + " and the server did not end it within cancel_timeout; the connection is closed",
          e);
    }
    cancelLate(deadline);
  }

  /**
   * Cancels a statement whose deadline has passed, and gives the server cancel_timeout to say so.
   */
  void cancelLate(Deadline deadline) {
    if (tryCancel()) {
      // The server has dealt with the cancel, so it is there.
      wire.restartSilence();
    }
    deadline.extend(config.cancelTimeout());
    deadline.cancelAgainLater();
  }

  /**
   * Handles what has arrived between statements: notices, notifications, and a server that says
   * goodbye.
   */
  void receiveAside(long deadline) {
    wire.forgetDisturbance();
    try {
      if (!wire.awaitInput(deadline)) {
        return;
      }
      do {
        int type = wire.next(System.nanoTime() + config.cancelTimeout().toNanos());
        if (type == 'E') {
          ServerMessage message = ServerMessage.read(wire);
          close();
          throw new ServerException(message, null);
        }
        if (!handledAside(type)) {
          throw unexpected(type, "between statements");
        }
      } while (wire.hasInput());
    } catch (ConnectionException e) {
      close();
      throw e;
    }
  }

  /** Reads the current message, which says that the server is ready. */
  void ready() {
    status = (char) wire.int1();
    awaitingReady = false;
    if (status == 'I') {
      ended++;
      if (!closingPortals.isEmpty()) {
        closingPortals.clear();
      }
    }
  }

  /** Sends what is in the output; the server owes an answer from now on. */
  void flush(Deadline deadline) {
    awaitingReady = true;
    try {
      wire.flush(
          deadline::at,
          late -> {
            throw new ConnectionException(
                "the server did not take what was sent within "
                    + deadline.limit()
                    + "; the connection is closed",
                late);
          });
    } catch (ConnectionException e) {
      close();
      throw e;
    }
  }

  /**
   * Sends data to a statement that runs and may be slow to take them. It is cancelled when the
   * deadline passes, and the server then takes what is left and drops it.
   */
  void flushData(Deadline deadline) {
    awaitingReady = true;
    try {
      wire.flush(deadline::at, late -> waitedLong(deadline, late));
    } catch (ConnectionException e) {
      close();
      throw e;
    }
  }

  /** Writes the orders to close what is not needed any more. */
  void writeClosing(WireOutput out) {
    for (String name : statements.takeClosing()) {
      Requests.close('S', name, out);
    }
    for (String name : closingPortals) {
      Requests.close('P', name, out);
    }
    closingPortals.clear();
  }

  /**
   * A statement does not fit its tables any more, or a pooler has lost it. What was learned of
   * their types may be as old. Returns whether it was kept until now.
   */
  boolean discard(Statement statement) {
    types.doubt();
    return statements.remove(statement);
  }

  /** Sends Sync and reads up to where the server is ready. */
  void synchronize(Deadline deadline) {
    wire.output().message('S');
    flush(deadline);
    while (true) {
      int type = receive(deadline);
      if (type == 'Z') {
        ready();
        return;
      }
    }
  }

  /**
   * Closes the session if work on it ended before the server's answer did: nothing could be read in
   * order any more.
   */
  void closeIfTorn() {
    if (awaitingReady) {
      close();
    }
  }

  /** A number for the name of a portal, never given twice. */
  long nextPortal() {
    return ++portals;
  }

  /** How many times the session was ready outside a transaction. */
  long ended() {
    return ended;
  }

  /** I for idle, T inside a transaction, E inside one that has failed. */
  char status() {
    return status;
  }

  /** A setting that the server reports, such as server_version; null if it does not. */
  String parameter(String name) {
    return parameters.get(name);
  }

  int process() {
    return process;
  }

  void onNotification(Consumer<Notification> handler) {
    notifications = handler;
  }

  boolean isOpen() {
    return open && wire.transport().isOpen();
  }

  /**
   * Cancels what runs; false if nothing does, or the caller may not any more. Closes the session if
   * the server does not say that it has done so.
   */
  boolean cancel(BooleanSupplier may) {
    return isOpen()
        && gate.cancel(
            may,
            () -> {
              Duration silence = wire.silence();
              boolean network = !silence.isZero() && silence.compareTo(config.cancelTimeout()) < 0;
              Duration limit = network ? silence : config.cancelTimeout();
              if (!Handshake.cancel(config, endpoint, process, secret, limit)) {
                // The signal may still come, and would hit whatever runs then.
                cancelUnconfirmed = network ? "the limit of the network" : "cancel_timeout";
                close();
              }
              // The thread that waits for the answer sends it again until there is one.
              wire.disturb();
            });
  }

  /** Cancels what runs if that is possible; returns whether the server was asked to. */
  boolean tryCancel() {
    try {
      return cancel(() -> true);
    } catch (PgException ignored) {
      // The statement then ends by itself or at its limit.
      return false;
    }
  }

  /** Closes the socket. */
  void close() {
    if (!open) {
      return;
    }
    open = false;
    wire.close();
  }

  /** Ends an idle session in order. */
  void terminate() {
    if (isOpen()) {
      try {
        wire.output().clear();
        wire.output().message('X');
        wire.flush(System.nanoTime() + 1_000_000_000L);
      } catch (PgException ignored) {
        // It is being closed; whether the server heard it does not matter.
      }
    }
    close();
  }
}
