// A webhook receiver on Go's standard library: WEBHOOK_SECRET=whsec_… go run receiver.go 9000
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

const tolerance = 5 * time.Minute

// The last two are sent during a rotation of the secret: one of the three matches the secret that you have.
var names = []string{"X-Service-Signature", "X-Service-Signature-Next", "X-Service-Signature-Previous"}

var secret = []byte(os.Getenv("WEBHOOK_SECRET"))

func isValid(header http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, secret)
	if stamps := header.Values("X-Service-Timestamp"); len(stamps) > 0 {
		sent, err := time.Parse("2006-01-02T15:04:05Z", stamps[0])
		if err != nil || len(stamps[0]) != 20 || time.Since(sent).Abs() > tolerance {
			return false
		}
		mac.Write([]byte(stamps[0] + "."))
	}
	mac.Write(body)
	expected := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	for _, name := range names {
		// Equal runs in constant time and rejects a different length.
		if hmac.Equal([]byte(header.Get(name)), []byte(expected)) {
			return true
		}
	}
	return false
}

func receive(response http.ResponseWriter, request *http.Request) {
	// The signature covers these raw bytes, not the parsed content.
	body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
	if err != nil || !isValid(request.Header, body) {
		response.WriteHeader(http.StatusUnauthorized)
		return
	}
	var event struct{ ID, Type string }
	if json.Unmarshal(body, &event) != nil {
		response.WriteHeader(http.StatusBadRequest)
		return
	}
	fmt.Println(event.Type, event.ID) // an id seen before means the same event again
	response.WriteHeader(http.StatusNoContent)
}

func main() {
	if len(secret) == 0 {
		log.Fatal("WEBHOOK_SECRET is not set: anybody could sign with an empty secret")
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], http.HandlerFunc(receive)))
}
