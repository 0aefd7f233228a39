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

(deftest options-that-are-no-map-are-an-error
  (doseq [[function call] callers]
    (is (thrown-with-msg? IllegalArgumentException (re-pattern (str function " takes options as a map or as keywords, not \\[1\\]"))
                          (call [1])))
    (is (thrown-with-msg? IllegalArgumentException #"as a map" (call 1))))
  (is (thrown-with-msg? IllegalArgumentException #"parameters are \{:params \[1\]\}" (pg/execute *conn* "select $1::int" [1]))))

(deftest parameters-are-sequential
  (doseq [wrong [1 "x" #{1} {:a 1} :a]]
    (is (thrown-with-msg? IllegalArgumentException #":params must be sequential, such as .* not "
                          (pg/execute *conn* "select $1::int as a" {:params wrong})))
    (is (thrown-with-msg? IllegalArgumentException #":params must be sequential"
                          (pg/json-bytes *conn* "select $1::int as a" {:params wrong}))))
  (doseq [right [[1] '(1) (map identity [1]) (java.util.ArrayList. [1]) (object-array [1]) (int-array [1])]]
    (is (= [{:a 1}] (pg/execute *conn* "select $1::int as a" {:params right}))))
  (is (= [{:a 1}] (pg/execute *conn* "select 1 as a" {:params nil}) (pg/execute *conn* "select 1 as a" {:params []}))))

(deftest sql-is-a-string
  (is (thrown-with-msg? IllegalArgumentException #"an option: \"select \$1::int\" \{:params \[1\]\}"
                        (pg/execute *conn* ["select $1::int" 1])))
  (doseq [call [#(pg/execute *conn* %) #(pg/query *conn* %) #(pg/reduce-rows conj [] *conn* %) #(pg/write-json *conn* out %)
                #(pg/write-edn *conn* out %) #(pg/write-csv *conn* out %) #(pg/json-bytes *conn* %) #(pg/copy-out *conn* % out)
                #(pg/copy-in *conn* % (InputStream/nullInputStream)) #(pg/copy-out-rows *conn* %)
                #(pg/copy-in-rows *conn* % [] {:types [:int]})]]
    (is (thrown-with-msg? IllegalArgumentException #"SQL must be a String, not :sql" (call :sql)))))

(deftest what-makes-the-result-is-named-once
  (let [sql "select x as a, x * 2 as b from generate_series(1, 3) x"]
    (is (= 1 (pg/execute *conn* sql {:first true :column :a})))
    (is (= [1 2] (pg/execute *conn* sql {:first? true :columns [:a :b]})))
    (is (= 3 (pg/execute *conn* sql {:first true :map #(+ (:a %) (:b %))})))
    (is (= 1 (pg/copy-out-rows *conn* sql {:first true :column :a})))
    (is (nil? (pg/execute *conn* (str sql " limit 0") {:first true :column :a})))
    (is (= [1 2 3] (pg/execute *conn* sql {:first false :column :a}) (pg/execute *conn* sql {:first nil :column :a})))
    (doseq [wrong [{:column :a :matrix true} {:first true :index-by :a} {:as conj :map :a} {:first true :column :a :map :b}]]
      (is (thrown-with-msg? IllegalArgumentException #"only one of :.* and :" (pg/execute *conn* sql wrong))))))

(deftest a-matrix-of-no-rows-has-its-header
  (let [sql "select 1 as a, 2 as b, 3 as a where false"]
    (is (= [[:a :b :a_1]] (pg/execute *conn* sql {:matrix true}) (pg/query *conn* sql {:table true})))
    (is (= [["a" "b" "a_1"]] (pg/execute *conn* sql {:matrix true :key-fn identity})))))

(deftest a-transaction-refuses-other-threads
  (let [ended (future
                (pg/with-transaction [tx *conn*]
                  (is (thrown-with-msg? Exception #"the transaction is that of the thread" @(future (pg/execute tx "select 1"))))
                  (is (thrown-with-msg? Exception #"the transaction is that of the thread"
                                        (doall (pmap (fn [_] (pg/execute tx "select 1")) [1 2]))))
                  (pg/execute tx "select 1 as a")))]
    (is (= [{:a 1}] (deref ended 20000 :hangs)))))

(deftest an-error-has-its-statement
  (pg/query *conn* "create temp table once (a int primary key); insert into once values (1)")
  (let [sql "insert into once values ($1)"
        e (is (thrown? dev.howdah.pg.ServerException (pg/execute *conn* sql {:params [1]})))]
    (is (= sql (:sql (pg/error-fields e))))
    (is (= "once_pkey" (:constraint (pg/error-fields e))))))

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
        lazily (map (fn [n] (while (< (- (System/nanoTime) begun) 2000000000) (Thread/onSpinWait)) [n]) (range 3))]
    (is (thrown-with-msg? PgTimeoutException #"source"
                          (pg/copy-in-rows *conn* "copy plain from stdin (format binary)" lazily {:types [:int] :timeout-ms 100})))
    (is (= [{:n 0}] (pg/execute *conn* "select count(*) as n from plain")))))
