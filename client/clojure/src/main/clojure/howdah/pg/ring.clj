(ns howdah.pg.ring
  "Query results as bodies of Ring responses. Needs Ring on the class path: this namespace extends
  ring.core.protocols/StreamableResponseBody.

      (require '[howdah.pg.ring :as pg-ring])

      (defn handler [request]
        (pg-ring/response pool \"select id, email from users where id > $1\" {:params [100]}))

  The rows are written while they come from the server, 32 KiB at a time, and none is kept: a client that
  reads slowly slows the server down, and one that goes away ends the query there. A connection is taken from
  the source when the body is written, and given back at its end.

  An error before the first 32 KiB were written is the handler's as any other. After that the response is cut
  off without its proper end, so that nobody takes a part for the whole.

  Rows that execute returned, and a single row, are bodies too. Their Content-Type header says what they are
  written as: application/edn, text/csv, or JSON."
  (:require [clojure.string :as string]
            [howdah.pg :as pg]
            [howdah.pg.options :as options]
            [ring.core.protocols :as protocols])
  (:import (dev.howdah.pg Result Row)
           (dev.howdah.pg.clojure RowMap RowVector)
           (java.io OutputStream UncheckedIOException)))

(set! *warn-on-reflection* true)

(def ^:private content-types
  {:json "application/json" :edn "application/edn" :csv "text/csv"})

(def ^:private writers
  {:json pg/write-json :edn pg/write-edn :csv pg/write-csv})

(defn ^:private write-to
  "Calls write with the stream and closes it, but only if all was written. A client that went away is an
  IOException, as Ring's adapters expect."
  [^OutputStream out write]
  (try
    (write out)
    (catch UncheckedIOException e
      (throw (.getCause e))))
  (.close out))

(deftype ^:private Body [source sql opts write]
  protocols/StreamableResponseBody
  (write-body-to-stream [_ _ out]
    (write-to out #(write source % sql opts))))

(defn body
  "A body of the rows of a statement. Options: :as is :json (the default), :edn or :csv; :params, :timeout-ms, :binary?."
  [source sql & {:keys [as] :or {as :json} :as opts}]
  (options/check "body" options/body opts)
  (let [write (or (writers as)
                  (throw (IllegalArgumentException. (str ":as must be one of " (keys writers) ", not " as))))]
    (->Body source sql (dissoc opts :as) write)))

(defn response
  "A response with such a body and its Content-Type; options as for body."
  [source sql & {:keys [as] :or {as :json} :as opts}]
  {:status 200
   :headers {"Content-Type" (content-types as)}
   :body (body source sql opts)})

(defn ^:private wanted
  "What a response's Content-Type asks for."
  [response]
  (let [content-type (some (fn [[k v]] (when (= "content-type" (string/lower-case (name k))) (str v))) (:headers response))]
    (or (some (fn [[as prefix]] (when (string/starts-with? (str content-type) prefix) as)) content-types)
        :json)))

(extend-protocol protocols/StreamableResponseBody
  RowVector
  (write-body-to-stream [rows response out]
    (let [^Result result (.result ^RowVector rows)]
      (write-to out #(case (wanted response)
                       :edn (.writeEdn result %)
                       :csv (.writeCsv result %)
                       :json (.writeJson result %)))))

  RowMap
  (write-body-to-stream [row response out]
    (let [^Row row row
          ^String text (case (wanted response)
                         :edn (.toEdn row)
                         :csv (throw (IllegalArgumentException. "a single row has no CSV; return the rows"))
                         :json (.toJson row))]
      (write-to out #(.write ^OutputStream % (.getBytes text "UTF-8"))))))
