package dev.howdah.pg.types;

import dev.howdah.pg.PgException;
import java.net.InetAddress;
import java.net.UnknownHostException;

/** Network addresses as the server writes them. */
final class InetText {
  private static final String BYTE = "(25[0-5]|2[0-4]\\d|1\\d\\d|\\d?\\d)";

  private InetText() {}

  static String text(Inet inet) {
    byte[] bytes = inet.bytes();
    String address = bytes.length == 4 ? dotted(bytes, 0) : colons(bytes);
    boolean host = inet.prefix() == bytes.length * 8;
    return host && !inet.isCidr() ? address : address + "/" + inet.prefix();
  }

  private static String dotted(byte[] bytes, int from) {
    return (bytes[from] & 255)
        + "."
        + (bytes[from + 1] & 255)
        + "."
        + (bytes[from + 2] & 255)
        + "."
        + (bytes[from + 3] & 255);
  }

  /** RFC 5952, with an embedded IPv4 address written in its own form, as inet_net_ntop does. */
  private static String colons(byte[] bytes) {
    int[] words = new int[8];
    for (int i = 0; i < 8; i++) {
      words[i] = (bytes[2 * i] & 255) << 8 | bytes[2 * i + 1] & 255;
    }
    int[] run = longestZeros(words);
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 8; i++) {
      if (i >= run[0] && i < run[0] + run[1]) {
        text.append(i == run[0] ? ":" : "");
        continue;
      }
      text.append(i > 0 ? ":" : "");
      if (i == 6 && run[0] == 0 && embedsIpv4(words, run[1])) {
        return text.append(dotted(bytes, 12)).toString();
      }
      text.append(Integer.toHexString(words[i]));
    }
    if (run[1] > 0 && run[0] + run[1] == 8) {
      text.append(':');
    }
    return text.toString();
  }

  private static boolean embedsIpv4(int[] words, int zeros) {
    return zeros == 6 || zeros == 5 && words[5] == 0xffff || zeros == 7 && words[7] != 1;
  }

  /** Start and length of the longest run of two or more zero words; length 0 if there is none. */
  private static int[] longestZeros(int[] words) {
    int[] best = {8, 0};
    for (int i = 0; i < 8; i++) {
      int length = 0;
      while (i + length < 8 && words[i + length] == 0) {
        length++;
      }
      if (length > 1 && length > best[1]) {
        best = new int[] {i, length};
      }
      i += length;
    }
    return best;
  }

  static Inet parse(String text, boolean cidr) {
    int slash = text.indexOf('/');
    String host = slash < 0 ? text : text.substring(0, slash);
    // What has a colon is no name. InetAddress would ask a name server about anything else, such as
    // cafe or 1.2.3.400.
    if (!host.matches("[0-9a-fA-F:.]*:[0-9a-fA-F:.]*|(" + BYTE + "\\.){3}" + BYTE)
        || slash >= 0 && !text.substring(slash).matches("/[0-9]{1,3}")) {
      throw malformed(text);
    }
    try {
      byte[] bytes = address(host);
      int prefix = slash < 0 ? bytes.length * 8 : Integer.parseInt(text.substring(slash + 1));
      if (prefix < 0 || prefix > bytes.length * 8) {
        throw malformed(text);
      }
      return new Inet(bytes, prefix, cidr);
    } catch (UnknownHostException | NumberFormatException e) {
      throw malformed(text);
    }
  }

  /** Java turns a mapped IPv4 address into four bytes; the text shows that it had sixteen. */
  private static byte[] address(String host) throws UnknownHostException {
    byte[] bytes = InetAddress.getByName(host).getAddress();
    if (host.indexOf(':') < 0 || bytes.length == 16) {
      return bytes;
    }
    byte[] mapped = new byte[16];
    mapped[10] = -1;
    mapped[11] = -1;
    System.arraycopy(bytes, 0, mapped, 12, 4);
    return mapped;
  }

  private static PgException malformed(String text) {
    return new PgException("22P02", "not a network address: " + text);
  }
}
