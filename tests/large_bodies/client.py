"""Sends bodies of some lengths by a library, and prints what each is answered.

    client.py urllib|requests URL AUTHORITY LENGTH...
"""

import ssl
import sys
import urllib.error
import urllib.request


class Zeros:
    """A file of zeros."""

    def __init__(self, length):
        self.left = length
        self.length = length

    def __len__(self):
        return self.length

    def read(self, size=-1):
        size = self.left if size < 0 else min(size, self.left)
        self.left -= size
        return bytes(size)


def by_urllib(url, authority, length):
    headers = {"Content-Length": str(length), "Content-Type": "application/octet-stream"}
    request = urllib.request.Request(url, data=Zeros(length), headers=headers)
    context = ssl.create_default_context(cafile=authority) if url.startswith("https") else None
    try:
        return urllib.request.urlopen(request, context=context).status
    except urllib.error.HTTPError as answer:
        return answer.code


def by_requests(url, authority, length):
    import requests

    return requests.post(url, data=Zeros(length), verify=authority, timeout=60).status_code


send = {"urllib": by_urllib, "requests": by_requests}[sys.argv[1]]
for length in sys.argv[4:]:
    try:
        print(send(sys.argv[2], sys.argv[3], int(length)))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
