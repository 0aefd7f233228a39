// Sends bodies of some lengths by HTTP/1.1 or HTTP/2, and prints what each is answered: main.go 1|2 URL AUTHORITY LENGTH...
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

func main() {
	authority, err := os.ReadFile(os.Args[3])
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(os.Args[1] == "1")
	protocols.SetHTTP2(os.Args[1] == "2")
	protocols.SetUnencryptedHTTP2(os.Args[1] == "2")
	transport := &http.Transport{Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: roots}}
	for _, argument := range os.Args[4:] {
		length, _ := strconv.ParseInt(argument, 10, 64)
		request, _ := http.NewRequest("POST", os.Args[2], io.LimitReader(zeros{}, length))
		request.ContentLength = length
		answer, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			fmt.Println(err)
			continue
		}
		answer.Body.Close()
		fmt.Println(answer.StatusCode)
	}
}
