(ns howdah.readme-test
  "Runs the examples of the README."
  (:require [clojure.test :refer [deftest is]]
            [howdah.pg :as pg]
            [howdah.pg-test :refer [source]])
  (:import (java.io PushbackReader StringReader)))

(def ^:dynamic conn nil)

(defn- forms [text]
  (let [reader (PushbackReader. (StringReader. text))]
    (doall (take-while #(not= ::end %) (repeatedly #(read {:eof ::end} reader))))))

(defn- examples []
  (map second (re-seq #"(?s)```clojure\n(.*?)```" (slurp "../README.md"))))

(deftest the-examples-of-the-readme-run
  (is (seq (examples)))
  (pg/with-connection [opened source]
    (pg/query opened "drop table if exists users; create table users (id int primary key, email text, created_at timestamptz default now());
                      insert into users (id, email) select x, 'u' || x || '@example.org' from generate_series(100, 120) x")
    (binding [conn opened
              *ns* (the-ns 'howdah.readme-test)]
      (let [results (mapv eval (mapcat forms (examples)))]
        (is (= "[{\"id\":100,\"email\":\"u100@example.org\"},{\"id\":101,\"email\":\"U101@EXAMPLE.ORG\"},{\"id\":102,\"email\":\"u102@example.org\"}]"
               (peek results)))
        (is (some #{{:inserted 1}} results))))))
