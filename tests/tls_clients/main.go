// Asks a server for a page, trusting one authority, and prints the protocol and the page.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	authority, err := os.ReadFile(os.Args[1])
	fail(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}}
	answer, err := (&http.Client{Transport: transport}).Get(os.Args[2])
	fail(err)
	body, err := io.ReadAll(answer.Body)
	fail(err)
	fmt.Println(answer.Proto, string(body))
}
