(ns howdah.threads-test
  "Threads that read the same rows for the first time at once never see a wrong value."
  (:require [clojure.test :refer [deftest is use-fixtures]]
            [howdah.pg :as pg]
            [howdah.pg-test :refer [source]])
  (:import (dev.howdah.pg ServerBuild)))

(set! *warn-on-reflection* true)

(def ^:dynamic ^dev.howdah.pg.Connection *conn* nil)

(use-fixtures :once
  (fn [tests]
    (pg/with-connection [conn source]
      (pg/query conn "drop type if exists place; create type place as (name text, at int[])")
      (binding [*conn* conn] (tests)))))

(defn- expected
  "The values of row x, without hstore."
  [x]
  {:int4 x :int8 x :numeric (bigdec x) :line (str x "foobar") :bool (even? x)
   :ts (.plusSeconds (java.time.LocalDateTime/of 2024 1 1 0 0) x)
   :nil nil :ints [x nil (inc x)] :texts [[(str x) "a"] ["b" "c"]] :place [(str "n" x) [x x]] :places [[(str x) nil] [nil [x]]]})

(def ^:private sql
  "select x::int4 as int4, x::int8 as int8, x::numeric as numeric, x || 'foobar' as line, x % 2 = 0 as bool,
     '2024-01-01'::timestamp + make_interval(secs => x) as ts, null as nil, array[x, null, x + 1] as ints,
     array[[x::text, 'a'], ['b', 'c']] as texts, row('n' || x, array[x, x])::place as place,
     array[row(x::text, null)::place, row(null, array[x])::place] as places
   from generate_series(1, $1::int) x")

(defn- wrong
  "The first of the rows that reads otherwise than it should, with what should be there, or nil."
  [read expected rows]
  (some (fn [i] (let [seen (read (nth rows i)), right (expected (inc i))]
                  (when-not (= right seen) [right seen])))
        (range (count rows))))

(defn- never-wrong
  "Reads fresh rows by two threads at once, again and again for a while; what was wrong."
  [sql read expected]
  (let [end (+ (System/nanoTime) (* 1000000000 (Long/getLong "howdah.race.seconds" 1)))]
    (loop []
      (let [rows (pg/execute *conn* sql {:params [1000]})
            other (future (wrong read expected rows))]
        (or (wrong read expected rows)
            @other
            (when (< (System/nanoTime) end) (recur)))))))

(deftest rows-that-are-maps-are-shared
  (is (nil? (never-wrong sql #(into {} %) expected)))
  (is (nil? (never-wrong sql identity expected))))

(deftest rows-that-were-changed-are-shared
  (let [change #(-> % (assoc :extra 1 :line nil) (dissoc :texts) (update :int4 inc))]
    (is (nil? (never-wrong sql change (comp change expected))))))

(deftest rows-of-one-overlay-are-shared
  (let [changed (mapv #(assoc % :extra 1) (pg/execute *conn* sql {:params [3000]}))
        right #(assoc (expected %) :extra 1)
        other (future (wrong identity right changed))]
    (is (nil? (wrong identity right changed)))
    (is (nil? @other))))

(deftest maps-of-hstore-are-shared
  (when (ServerBuild/makesExtension *conn* "hstore" "threads that share values of type hstore")
    (is (nil? (never-wrong "select hstore(array['a', x::text, 'b', null]) as h from generate_series(1, $1::int) x"
                           :h (fn [x] {"a" (str x) "b" nil}))))))

(deftest a-changed-value-would-be-seen
  (is (some? (never-wrong sql identity #(assoc (expected %) :places [])))))
