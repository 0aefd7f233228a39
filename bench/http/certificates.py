"""Makes the certificates of one run by openssl: an authority, and what it signs for this machine."""

import os
from dataclasses import dataclass
from pathlib import Path

from bench.harness.processes import run

# Of the keys that certificates have: openssl's words for each.
KEYS = {
    "ecdsa": ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"),
    "rsa": ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"),
}
AUTHORITY_EXTENSIONS = ("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign")
SERVER_EXTENSIONS = ("subjectAltName=DNS:localhost,IP:127.0.0.1", "basicConstraints=critical,CA:FALSE")
DAYS = "2"


@dataclass(frozen=True)
class Certificate:
    """The files of one certificate for localhost."""

    authority: Path
    """The certificate of who has signed it."""
    chain: Path
    """It and its authority's."""
    key: Path
    """Its key, which the account of PostgreSQL owns and nobody else reads."""


def certificate(cluster, kind):
    """The certificate whose key is of this kind, "ecdsa" or "rsa"; it is made when it is asked for first."""
    folder = cluster.folder / "certificates"
    made = Certificate(folder / f"{kind}-authority.pem", folder / f"{kind}-chain.pem", folder / f"{kind}.key")
    if not made.chain.exists():
        _make(cluster, folder, kind, made)
    return made


def _make(cluster, folder, kind, made):
    run(["mkdir", "-p", "-m", "700", str(folder)], cwd=cluster.folder, **cluster.account)

    def openssl(*words):
        run(["openssl", *map(str, words)], cwd=folder, **cluster.account)

    authority_key, request, alone = f"{kind}-authority.key", f"{kind}.csr", folder / f"{kind}.pem"
    for key in (authority_key, made.key):
        openssl("genpkey", *KEYS[kind], "-out", key)
        os.chmod(folder / key, 0o600)
    subject = ("-subj", "/CN=bench")
    signer = ("req", "-x509", "-new", "-key", authority_key, *subject, "-days", DAYS, "-out", made.authority)
    openssl(*signer, *_extensions(AUTHORITY_EXTENSIONS))
    openssl("req", "-new", "-key", made.key, *subject, "-out", request, *_extensions(SERVER_EXTENSIONS))
    signed = ("x509", "-req", "-in", request, "-CA", made.authority, "-CAkey", authority_key)
    openssl(*signed, "-CAcreateserial", "-days", DAYS, "-copy_extensions", "copy", "-out", alone)
    made.chain.write_text(alone.read_text() + made.authority.read_text())


def _extensions(texts):
    return [word for text in texts for word in ("-addext", text)]
