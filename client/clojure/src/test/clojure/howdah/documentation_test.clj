(ns howdah.documentation-test
  "Runs the Clojure examples of docs/client.md and compares what they return with what stands behind them."
  (:require [clojure.string :as string]
            [clojure.test :refer [deftest is]]
            [howdah.pg :as pg]
            [howdah.pg-test :refer [source]])
  (:import (dev.howdah.pg PrivateServer)
           (java.io PushbackReader StringReader)))

(def ^:dynamic conn nil)
(def ^:dynamic pool nil)

(defn- page []
  (string/replace (slurp "../../docs/client.md") "postgresql://app:secret@localhost/app"
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

(defn- shown? [said value]
  (or (nil? said) (string/includes? said "…") (= (read-string said) value)))

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
