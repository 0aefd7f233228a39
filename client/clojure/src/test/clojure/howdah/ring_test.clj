(ns howdah.ring-test
  "Bodies of Ring responses through a real Jetty, which is called as Ring's Jetty adapter calls it."
  (:require [clojure.string :as string]
            [clojure.test :refer [deftest is]]
            [howdah.pg :as pg]
            [howdah.pg-test :refer [source]]
            [howdah.pg.ring :as pg-ring]
            [ring.core.protocols :as protocols])
  (:import (jakarta.servlet.http HttpServletResponse)
           (java.io InputStream)
           (java.net Socket URI)
           (java.net.http HttpClient HttpRequest HttpResponse$BodyHandlers)
           (org.eclipse.jetty.server Request Server ServerConnector)
           (org.eclipse.jetty.server.handler AbstractHandler)))

(set! *warn-on-reflection* true)

(defn- adapter ^AbstractHandler [handler]
  (proxy [AbstractHandler] []
    (handle [_ ^Request request _ ^HttpServletResponse response]
      (.setHandled request true)
      (let [{:keys [status headers body] :as answer} (handler {:uri (.getRequestURI request)})]
        (.setStatus response status)
        (doseq [[k v] headers] (.setHeader response k v))
        (protocols/write-body-to-stream body answer (.getOutputStream response))))))

(defn- serving
  "Calls a function with the port of a server."
  [handler f]
  (let [server (doto (Server. 0) (.setHandler (adapter handler)) (.start))]
    (try
      (f (.getLocalPort ^ServerConnector (first (.getConnectors server))))
      (finally (.stop server)))))

(defn- fetch [port]
  (let [response (.send (HttpClient/newHttpClient)
                        (.build (HttpRequest/newBuilder (URI. (str "http://127.0.0.1:" port "/"))))
                        (HttpResponse$BodyHandlers/ofString))]
    [(.statusCode response) (.orElse (.firstValue (.headers response) "content-type") nil) (.body response)]))

(defn- await-true [condition]
  (let [end (+ (System/nanoTime) 30000000000)]
    (while (not (condition))
      (when (> (System/nanoTime) end) (throw (IllegalStateException. "not in 30 seconds")))
      (Thread/sleep 5))))

(def ^:private two "select x as id, 'n,' || x as name from generate_series(1, $1::int) x")

(deftest rows-are-bodies
  (pg/with-pool [pool (assoc source :pool-size 1)]
    (doseq [[response content-type body]
            [[#(pg-ring/response pool two {:params [2]}) "application/json" "[{\"id\":1,\"name\":\"n,1\"},{\"id\":2,\"name\":\"n,2\"}]"]
             [#(pg-ring/response pool two :params [1] :as :edn) "application/edn" "[{:id 1, :name \"n,1\"}]"]
             [#(pg-ring/response pool two :params [1] :as :csv) "text/csv" "id,name\n1,\"n,1\"\n"]
             [#(hash-map :status 200 :headers {} :body (pg/execute pool two {:params [1]})) nil "[{\"id\":1,\"name\":\"n,1\"}]"]
             [#(hash-map :status 200 :headers {"content-type" "application/edn; charset=utf-8"} :body (pg/execute pool two {:params [1]}))
              "application/edn; charset=utf-8" "[{:id 1, :name \"n,1\"}]"]
             [#(hash-map :status 200 :headers {} :body (pg/execute pool two {:params [7] :first true})) nil "{\"id\":1,\"name\":\"n,1\"}"]]]
      (serving (fn [_] (response)) #(is (= [200 content-type body] (fetch %)))))
    (is (= 1 (.idle pool)))
    (is (thrown? IllegalArgumentException (pg-ring/response pool "select 1" {:as :xml})))))

(deftest an-error-before-the-first-piece-is-a-status
  (pg/with-pool [pool (assoc source :pool-size 1)]
    (serving (fn [_] (pg-ring/response pool "select 1 / (3 - x) as q from generate_series(1, 5) x"))
             #(is (= 500 (first (fetch %)))))
    (is (= 1 (.idle pool)))))

(deftest an-error-later-cuts-the-response-off
  (pg/with-pool [pool source]
    (serving (fn [_] (pg-ring/response pool "select 1 / (300000 - x) as q from generate_series(1, 300000) x"))
             #(is (thrown? java.io.IOException (fetch %))))))

(def ^:private endless
  "select nextval('ring_rows') as n, repeat('x', 1000) as x from generate_series(1, 2000000)")

(deftest a-slow-client-slows-the-server-down-and-one-that-leaves-ends-the-query
  (pg/with-connection [other source]
    (pg/query other "drop sequence if exists ring_rows; create sequence ring_rows")
    (pg/with-pool [pool (assoc source :pool-size 1 :application-name "ring")]
      (let [sent #(:n (pg/execute other "select last_value as n from ring_rows" {:first true}))
            running #(:n (pg/execute other "select count(*) as n from pg_stat_activity where application_name = 'ring' and state = 'active'"
                                     {:first true}))]
        (serving (fn [_] (pg-ring/response pool endless))
                 (fn [port]
                   (with-open [socket (Socket. "127.0.0.1" (int port))]
                     (.write (.getOutputStream socket) (.getBytes "GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
                     (let [^InputStream in (.getInputStream socket)
                           head (String. (.readNBytes in 1000) "US-ASCII")]
                       (is (string/starts-with? head "HTTP/1.1 200")))
                     (await-true #(let [before (sent)]
                                    (Thread/sleep 200)
                                    (= before (sent))))
                     (is (< 0 (sent) 100000))
                     (is (= 1 (running))))
                   (await-true #(zero? (running)))
                   (await-true #(= 1 (.idle pool)))
                   (is (< (sent) 100000))))))))
