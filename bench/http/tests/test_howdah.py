"""Howdah is configured for a case, and what it was given is taken back."""

import unittest
from pathlib import Path

from bench.http.cases import USER
from bench.http.certificates import Certificate
from bench.http.howdah import serving

CERTIFICATE = Certificate(Path("/run/ca.pem"), Path("/run/chain.pem"), Path("/run/server.key"))


class Cluster:
    """Keeps the SQL that it is to run."""

    def __init__(self):
        self.ran = []

    def sql(self, text):
        """Runs nothing."""
        self.ran.append(text)


class Serving(unittest.TestCase):
    def served(self, certificate):
        """The port, and the SQL of before and of after."""
        cluster = Cluster()
        with serving(cluster, (USER,), "on", certificate=certificate) as port:
            before = "\n".join(cluster.ran)
            cluster.ran.clear()
        return port, before, "\n".join(cluster.ran)

    def test_a_certificate_is_in_the_configuration_before_its_port_is_listened_at(self):
        port, before, _ = self.served(CERTIFICATE)
        setting = before.index("howdah.tls_certificates = '/run/chain.pem:/run/server.key'")
        reload = before.index("pg_reload_conf()")
        listen = before.index(f"http.listen({port}, tls => true)")
        self.assertLess(setting, reload)
        self.assertLess(reload, listen)

    def test_without_one_it_listens_in_clear_text(self):
        port, before, _ = self.served(None)
        self.assertIn(f"http.listen({port})", before)
        self.assertNotIn("tls", before)

    def test_port_and_routes_are_taken_back(self):
        port, _, after = self.served(CERTIFICATE)
        self.assertIn(f"http.unlisten({port})", after)
        self.assertIn("http.unroute('GET', '/users/{handle}')", after)
