"""Certificates of a run, and what nginx is told of them."""

import stat
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from bench.harness.processes import run
from bench.http.certificates import KEYS, Certificate, certificate
from bench.http.nginx import configuration


class Certificates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cluster = SimpleNamespace(folder=Path(folder.name), account={})

    def test_each_is_signed_by_its_authority_for_this_machine_and_is_none_itself(self):
        for kind in KEYS:
            made = certificate(self.cluster, kind)
            purpose = ("-purpose", "sslserver", "-verify_hostname", "localhost")
            run(["openssl", "verify", *purpose, "-CAfile", str(made.authority), str(made.chain)])
            text = run(["openssl", "x509", "-noout", "-text", "-in", str(made.chain)])
            self.assertIn("CA:FALSE", text)
            self.assertIn("IP Address:127.0.0.1", text)

    def test_keys_are_for_their_owner_alone(self):
        certificate(self.cluster, "ecdsa")
        folder = self.cluster.folder / "certificates"
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
        keys = list(folder.glob("*.key"))
        self.assertEqual(len(keys), 2)
        for key in keys:
            self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)

    def test_one_is_made_once(self):
        made = certificate(self.cluster, "ecdsa")
        before = made.chain.read_text()
        self.assertEqual(certificate(self.cluster, "ecdsa"), made)
        self.assertEqual(made.chain.read_text(), before)


class Nginx(unittest.TestCase):
    def test_it_listens_at_the_port_with_the_certificate(self):
        text = configuration(9443, Certificate(Path("/a.pem"), Path("/c.pem"), Path("/k.key")))
        self.assertIn("listen 127.0.0.1:9443 ssl http2", text)
        self.assertIn("ssl_certificate /c.pem;", text)
        self.assertIn("ssl_certificate_key /k.key;", text)
