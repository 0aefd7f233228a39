(ns ring.core.protocols
  "Ring's protocol for bodies as Ring declares it, for the tests: Maven's central registry does not carry Ring.")

(defprotocol StreamableResponseBody
  (write-body-to-stream [body response output-stream]))
