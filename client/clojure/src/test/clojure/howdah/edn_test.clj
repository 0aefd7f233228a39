(ns howdah.edn-test
  "What is written as EDN is read by Clojure's own reader as the values that a row gives."
  (:require [clojure.edn :as edn]
            [clojure.test :refer [deftest is]]
            [howdah.pg :as pg]
            [howdah.pg-test :refer [source]])
  (:import (dev.howdah.pg Row Samples ServerBuild)
           (java.io ByteArrayOutputStream)
           (java.math BigDecimal)
           (java.time OffsetDateTime)))

(set! *warn-on-reflection* true)

(defn- read-edn
  "With instants as java.time has them: Clojure's Date drops microseconds, and counts as Julian before 1582."
  [text]
  (edn/read-string {:readers {'inst #(.toInstant (OffsetDateTime/parse %))}} text))

(defn- instant? [^OffsetDateTime time]
  (<= 1 (.getYear time) 9999))

(defn- expected
  "The EDN value for what a row gives, of which the text is known."
  [value text]
  (cond
    (nil? value) nil
    (and (instance? OffsetDateTime value) (instant? value)) (.toInstant ^OffsetDateTime value)
    (instance? Float value) (let [f (float value)] (if (Float/isFinite f) (Double/parseDouble (str text)) (double f)))
    (or (instance? Integer value) (instance? Long value)) (long value)
    (or (number? value) (boolean? value) (uuid? value)) value
    :else text))

(defn- same? [a b]
  (if (and (double? a) (Double/isNaN a))
    (and (double? b) (Double/isNaN b))
    (if (and (decimal? a) (decimal? b))
      (.equals ^BigDecimal a b)
      (= a b))))

(defn- check [conn type values]
  (doseq [binary? [true false]]
    (let [sql (str "select v::" type " as v from unnest($1::text[]) v")
          rows (pg/execute conn sql {:params [values] :binary? binary?})
          read (read-edn (pg/edn rows))]
      (is (= (count rows) (count read)))
      (dorun (map (fn [^Row row {:keys [v]}]
                    (when-not (same? (expected (.getObject row 0) (.getString row 0)) v)
                      (is (= (.getString row 0) v) (str type " as EDN, binary " binary?))))
                  rows read)))))

(deftest every-plain-type-is-read-back
  (let [samples (Samples.)]
    (pg/with-connection [conn source]
      (doseq [[type values] {"int2" (.longs samples 16) "int4" (.longs samples 32) "int8" (.longs samples 64)
                             "oid" (.unsigned samples) "float8" (.doubles samples) "float4" (.floats samples)
                             "numeric" (.numerics samples) "text" (.texts samples) "bytea" (.byteas samples)
                             "uuid" (.uuids samples) "date" (.dates samples) "time" (.times samples)
                             "timetz" (.zonedTimes samples) "timestamp" (.timestamps samples false)
                             "timestamptz" (.timestamps samples true) "interval" (.intervals samples)
                             "inet" (.inets samples) "varbit" (.bits samples) "point" (.geometry samples "point")
                             "bool" ["true" "false"] "money" ["1.25"] "xid" ["1" "4294967295"]
                             "pg_lsn" ["16/B374D848"] "int4range" ["[1,5)" "empty"] "macaddr" ["08:00:2b:01:02:03"]}]
        (check conn type values))
      (when (ServerBuild/readsXml conn "values of type xml as EDN")
        (check conn "xml" ["<a>\"</a>"])))))

(deftest types-made-of-types-are-data
  (pg/with-connection [conn source]
    (pg/query conn "drop type if exists edn_part cascade; create type edn_part as (a int, \"b c\" text[])")
    (let [hstore? (ServerBuild/makesExtension conn "hstore" "values of type hstore as EDN")
          sql (str "select " (when hstore? "'k=>v, n=>NULL'::hstore as store,") "
                      array[1,null,3] as ints, array[['a'],['\"']] as texts, '{}'::int[] as none,
                      row(1, array['x y', null])::edn_part as part,
                      array['ba0bab1e-0000-0000-0000-000000000001'::uuid] as ids, array['1.50'::money] as money,
                      null as nothing, 1 as \"not a key\", 2 as a, 3 as a, 4 as \"?column?\", ''::text as empty")
          wanted (cond-> {:ints [1 nil 3] :texts [["a"] ["\""]] :none [] :part {:a 1 "b c" ["x y" nil]}
                          :ids [#uuid "ba0bab1e-0000-0000-0000-000000000001"] :money ["$1.50"]
                          :nothing nil "not a key" 1 :a 2 :a_1 3 :?column? 4 :empty ""}
                   hstore? (assoc :store {"k" "v" "n" nil}))]
      (is (= [wanted] (edn/read-string (pg/edn (pg/execute conn sql)))))
      (is (= [wanted] (edn/read-string (pg/edn (pg/execute conn sql {:binary? false})))))
      (is (= wanted (edn/read-string (pg/edn (pg/execute conn sql {:first true}))))))))

(deftest json-is-data
  (pg/with-connection [conn source]
    (doseq [[json wanted] {"{\"a\": [1, 2.5, 1e-2, true, false, null], \"b\": {}}" {"a" [1 2.5 0.01 true false nil] "b" {}}
                           "\"a\\\"b\\\\\\n\\u00e9\\ud83d\\ude00\\/\\b\"" "a\"b\\\né😀/\b"
                           "[]" [] "{ }" {} " [ 1 , [ ] ] " [1 []] "123456789012345678901234567890" 123456789012345678901234567890N
                           "{\"a\": 1, \"b\": {\"x\": 1, \"x\": [2]}, \"a\": \"last\"}" {"a" "last" "b" {"x" [2]}}}
            type ["json" "jsonb"]
            binary? [true false]]
      (is (= wanted (:v (edn/read-string (pg/edn (pg/execute conn (str "select $1::" type " as v")
                                                             {:params [json] :first true :binary? binary?})))))
          json))))

(deftest rows-stream-as-edn
  (pg/with-connection [conn source]
    (let [out (ByteArrayOutputStream.)]
      (is (= 3 (pg/write-edn conn out "select x, 'ä' as t from generate_series(1, $1::int) x" {:params [3]})))
      (is (= "[{:x 1, :t \"ä\"} {:x 2, :t \"ä\"} {:x 3, :t \"ä\"}]" (.toString out "UTF-8"))))
    (is (= "[]" (pg/edn (pg/execute conn "select 1 where false"))))))
