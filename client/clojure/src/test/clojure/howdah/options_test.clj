(ns howdah.options-test
  "Options that a function does not know are errors; limits hold for COPY too."
  (:require [clojure.test :refer [deftest is testing use-fixtures]]
            [howdah.pg :as pg]
            [howdah.pg-test :refer [source]]
            [howdah.pg.ring :as pg-ring])
  (:import (dev.howdah.pg PgTimeoutException)
           (java.io ByteArrayInputStream ByteArrayOutputStream InputStream OutputStream)))

(set! *warn-on-reflection* true)

(def ^:dynamic ^dev.howdah.pg.Connection *conn* nil)

(use-fixtures :once
  (fn [tests]
    (pg/with-connection [conn source]
      (binding [*conn* conn] (tests)))))

(def ^:private out (OutputStream/nullOutputStream))

(def ^:private callers
  "Every function that takes options, by its name."
  {"execute" #(pg/execute *conn* "select 1" %)
   "query" #(pg/query *conn* "select 1" %)
   "reduce-rows" #(pg/reduce-rows conj [] *conn* "select 1" %)
   "transduce-rows" #(pg/transduce-rows identity conj [] *conn* "select 1" %)
   "write-json" #(pg/write-json *conn* out "select 1" %)
   "write-edn" #(pg/write-edn *conn* out "select 1" %)
   "write-csv" #(pg/write-csv *conn* out "select 1" %)
   "json-bytes" #(pg/json-bytes *conn* "select 1" %)
   "copy-in" #(pg/copy-in *conn* "copy absent from stdin" (InputStream/nullInputStream) %)
   "copy-in-rows" #(pg/copy-in-rows *conn* "copy absent from stdin (format binary)" [] %)
   "copy-in-maps" #(pg/copy-in-maps *conn* "copy absent from stdin (format binary)" [] %)
   "copy-out" #(pg/copy-out *conn* "copy absent to stdout" out %)
   "copy-out-rows" #(pg/copy-out-rows *conn* "select 1" %)
   "with-transaction" #(pg/with-transaction [tx *conn* %] tx)
   "begin" #(pg/begin *conn* %)
   "listener" #(pg/listener *conn* [:events] identity %)
   "body" #(pg-ring/body *conn* "select 1" %)})

(deftest an-option-that-a-function-does-not-know-is-an-error
  (doseq [[function call] callers]
    (is (thrown-with-msg? IllegalArgumentException (re-pattern (str function " has no option :nonsense.*takes :"))
                          (call {:nonsense 1}))))
  (is (= :I (pg/status *conn*)))
  (testing "that names the one that was meant"
    (doseq [[wrong right] {:timout-ms ":timeout-ms" :parms ":params" :index_by ":index-by" :timeout ":timeout-ms" :key-fun ":key-fn"}]
      (is (thrown-with-msg? IllegalArgumentException (re-pattern (str "did you mean " right "\\?"))
                            (pg/execute *conn* "select 1" {wrong 1})))))
  (is (thrown-with-msg? IllegalArgumentException #"query has no option :params" (pg/query *conn* "select 1" {:params [1]})))
  (is (thrown-with-msg? IllegalArgumentException #"\"first\"" (pg/execute *conn* "select 1" {"first" true})))
  (is (= [{:a 1}] (pg/execute *conn* "select 1 as a") (pg/execute *conn* "select 1 as a" {}) (pg/execute *conn* "select 1 as a" nil))))

(defn- in-time
  "Calls a function that must meet its limit, and not only end."
  [f]
  (let [running (future (try (f) (catch Throwable e e)))]
    (is (instance? PgTimeoutException (deref running 20000 :not-in-time)))
    (is (= [{:one 1}] (pg/execute *conn* "select 1 as one")))))

(def ^:private endless
  "A stream of lines that does not end."
  #(proxy [InputStream] []
     (read
       ([] 10)
       ([^bytes buffer offset length]
        (System/arraycopy (.getBytes "1\n") 0 buffer offset (int 2))
        2))))

(deftest a-limit-holds-for-copy
  (pg/query *conn* "drop table if exists slow; create table slow (a int);
                    create or replace function hesitate() returns trigger language plpgsql as
                      $$ begin perform pg_sleep(60); return new; end $$;
                    create trigger hesitate before insert on slow for each row execute function hesitate()")
  (let [limit {:timeout-ms 200}
        pid #(:pid (pg/execute *conn* "select pg_backend_pid() as pid" {:first true}))
        before (pid)]
    (in-time #(pg/copy-in *conn* "copy slow from stdin" (endless) limit))
    (in-time #(pg/copy-in *conn* "copy slow from stdin" (ByteArrayInputStream. (.getBytes "1\n")) limit))
    (in-time #(pg/copy-in-rows *conn* "copy slow from stdin (format binary)" (repeat [1]) (assoc limit :types [:int])))
    (in-time #(pg/copy-in-maps *conn* "copy slow from stdin (format text)" (repeat {:a 1}) (assoc limit :types [:int] :keys [:a] :format :text)))
    (in-time #(pg/copy-out *conn* "copy (select pg_sleep(60)) to stdout" (ByteArrayOutputStream.) limit))
    (in-time #(pg/copy-out-rows *conn* "select pg_sleep(60)" limit))
    (is (= before (pid)) "the connection was kept")
    (is (= [{:n 0}] (pg/execute *conn* "select count(*) as n from slow")))))

(deftest a-limit-holds-for-a-source-that-keeps-copy-waiting
  (pg/query *conn* "drop table if exists plain; create table plain (a int)")
  (let [begun (System/nanoTime)
        lazily (map (fn [n] (while (< (- (System/nanoTime) begun) 400000000) (Thread/onSpinWait)) [n]) (range 3))]
    (is (thrown-with-msg? PgTimeoutException #"source"
                          (pg/copy-in-rows *conn* "copy plain from stdin (format binary)" lazily {:types [:int] :timeout-ms 100})))
    (is (= [{:n 0}] (pg/execute *conn* "select count(*) as n from plain")))))
