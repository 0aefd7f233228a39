package dev.howdah.pg.types;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;

/**
 * An inet or cidr value: an address of four or sixteen bytes and the length of its network's
 * prefix.
 */
public final class Inet {
  private final byte[] address;
  private final int prefix;
  private final boolean cidr;

  Inet(byte[] address, int prefix, boolean cidr) {
    this.address = address;
    this.prefix = prefix;
    this.cidr = cidr;
  }

  /** A host's address. */
  public static Inet of(InetAddress address) {
    byte[] bytes = address.getAddress();
    return new Inet(bytes, bytes.length * 8, false);
  }

  /** The text form, such as 192.168.0.1/24; without a prefix it is one host's. */
  public static Inet parse(String text) {
    return InetText.parse(text, false);
  }

  /** The address. Java turns an IPv4 address mapped into IPv6 into the IPv4 address. */
  public InetAddress address() {
    try {
      return InetAddress.getByAddress(address);
    } catch (UnknownHostException e) {
      throw new IllegalStateException("an address has 4 or 16 bytes", e);
    }
  }

  byte[] bytes() {
    return address;
  }

  /** The length of the network's prefix in bits. */
  public int prefix() {
    return prefix;
  }

  /** Whether it came from, or is meant for, a cidr. */
  public boolean isCidr() {
    return cidr;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Inet inet
        && prefix == inet.prefix
        && cidr == inet.cidr
        && Arrays.equals(address, inet.address);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(address) * 31 + prefix;
  }

  @Override
  public String toString() {
    return InetText.text(this);
  }
}
