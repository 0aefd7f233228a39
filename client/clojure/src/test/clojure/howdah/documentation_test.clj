(ns howdah.documentation-test
  "Runs the Clojure examples of docs/client.md and docs/client-reference.md, and compares what they return with what stands behind them."
  (:require [clojure.string :as string]
            [clojure.test :refer [deftest is]]
            [howdah.pg :as pg]
            [howdah.pg-test :refer [source]]
            [howdah.pg.options :as options]
            [howdah.pg.ring :as pg-ring])
  (:import (dev.howdah.pg PrivateServer)
           (java.io PushbackReader StringReader)))

(def ^:dynamic conn nil)
(def ^:dynamic pool nil)

(defn- page []
  (string/replace (str (slurp "../../docs/client.md") (slurp "../../docs/client-reference.md")) "postgresql://app:secret@localhost/app"
                  (str "postgresql://" PrivateServer/USER "@127.0.0.1:" (:port source) "/postgres")))

(defn- blocks [language]
  (map second (re-seq (re-pattern (str "(?s)```" language "\n(.*?)```")) (page))))

(defn- forms [text]
  (let [reader (PushbackReader. (StringReader. text))]
    (doall (take-while #(not= ::end %) (repeatedly #(read {:eof ::end} reader))))))

(defn- steps
  "The forms of an example, each part of it up to a line that says what the last form returns."
  [example]
  (for [[_ code said] (re-seq #"(?s)(.*?)(?:;=> ([^\n]*)\n|\z)" example)
        :when (seq (string/trim code))]
    [(forms code) said]))

(defn- same?
  "Whether a value is what is said of it, where … stands for anything."
  [said value]
  (cond
    (= '… said) true
    (map? said) (and (map? value) (= (set (keys said)) (set (keys value)))
                     (every? (fn [[k v]] (same? v (get value k))) said))
    (sequential? said) (and (sequential? value) (= (count said) (count value)) (every? true? (map same? said value)))
    :else (= said value)))

(defn- shown? [said value]
  (or (nil? said) (same? (read-string said) value)))

(deftest the-clojure-examples-return-what-they-say
  (is (< 8 (count (blocks "clojure"))))
  (pg/with-connection [opened source]
    (pg/query opened (str "drop table if exists users;" (string/join (blocks "sql"))))
    (pg/with-pool [lender source]
      (binding [conn opened
                pool lender
                *ns* (the-ns 'howdah.documentation-test)]
        (doseq [[code said] (mapcat steps (blocks "clojure"))]
          (let [value (last (mapv eval code))]
            (is (shown? said value) (str (last code) " said " said " and returned " (pr-str value)))))))))

(defn- words
  "The keywords in a text."
  [text]
  (set (map (comp keyword second) (re-seq #"(?<!\w):([a-z][a-z-]*\??)" text))))

(deftest the-table-of-options-has-all-of-them
  (let [[_ table] (re-find #"(?s)\n(\| option \|.*?)\n\n" (page))
        listed (into #{} (mapcat (comp words second #(string/split % #"\|"))) (string/split-lines table))
        known (into #{:on-end} cat [options/execute options/stream options/body options/copy-maps options/copy-out-rows
                                    options/transaction @#'pg/own-settings])]
    (is (= known listed))))

(deftest docstrings-name-the-options
  (let [whole (the-ns 'howdah.pg)]
    (doseq [[known & places] [[options/execute #'pg/execute whole]
                              [options/rows #'pg/query whole]
                              [options/stream #'pg/reduce-rows]
                              [options/stream #'pg/transduce-rows #'pg/reduce-rows]
                              [options/write #'pg/write-json]
                              [options/write #'pg/json-bytes]
                              [options/write #'pg/write-csv]
                              [options/write #'pg/write-edn]
                              [options/body #'pg-ring/body]
                              [options/body #'pg-ring/response #'pg-ring/body]
                              [options/copy #'pg/copy-in]
                              [options/copy-rows #'pg/copy-in-rows]
                              [options/copy-maps #'pg/copy-in-maps #'pg/copy-in-rows]
                              [options/copy #'pg/copy-out]
                              [options/copy-out-rows #'pg/copy-out-rows whole]
                              [options/begin #'pg/begin]
                              [options/transaction #'pg/with-transaction]
                              [#{:on-end} #'pg/listener]
                              [@#'pg/own-settings #'pg/config #'pg/pool]]]
      (is (empty? (remove (words (string/join " " (map (comp :doc meta) places))) known)) (str (first places))))))

(deftest everything-public-has-a-docstring
  (is (empty? (for [namespace '[howdah.pg howdah.pg.fold howdah.pg.ring]
                    [_ v] (ns-publics namespace)
                    :when (and (not (:doc (meta v))) (not (string/starts-with? (name (symbol v)) "->")))]
                v))))
