(ns howdah.pg.options
  "Which options a function takes. One that it does not know is an error: a limit that is misspelt would be no
  limit, and nobody would hear of it."
  (:require [clojure.string :as string])
  (:import (java.util Set)))

(set! *warn-on-reflection* true)

(defn ^:private next-distances
  "The distances of one more character to each beginning of a word, of those of one character less."
  [word above character]
  (reductions (fn [left [diagonal up other]]
                (min (inc left) (inc up) (if (= character other) diagonal (inc diagonal))))
              (inc (first above))
              (map vector above (rest above) word)))

(defn ^:private distance
  "How many characters must be put in, taken out or changed to make one word of another."
  [word other]
  (last (reduce (partial next-distances other) (range (inc (count other))) word)))

(defn ^:private nearest
  "The known option that was probably meant, or nil."
  [option known]
  (let [word (name option)
        candidate (apply min-key #(distance word (name %)) known)]
    (when (or (string/starts-with? (name candidate) word)
              (<= (distance word (name candidate)) (max 2 (quot (count word) 3))))
      candidate)))

(defn ^:private shown [option]
  (if (keyword? option) option (pr-str option)))

(defn ^:private refuse [function known option]
  (let [meant (when (and (instance? clojure.lang.Named option) (seq known)) (nearest option known))]
    (throw (IllegalArgumentException.
            (str function " has no option " (shown option) (when meant (str "; did you mean " meant "?"))
                 (if (seq known)
                   (str (if meant " It" "; it") " takes " (string/join ", " (sort known)))
                   "; it takes none"))))))

(defn check
  "Throws unless a function knows all of its options, which are a map or nil."
  [function ^Set known opts]
  (when-not (or (nil? opts) (map? opts))
    (throw (IllegalArgumentException.
            (str function " takes options as a map or as keywords, not " (pr-str opts)
                 (when (and (sequential? opts) (contains? known :params)) (str "; parameters are {:params " (pr-str opts) "}"))))))
  (reduce-kv (fn [_ option _] (when-not (.contains known option) (refuse function known option))) nil opts))

(def folds
  "The options that make another shape of a result."
  #{:as :first :first? :map :index-by :group-by :kv :column :columns :matrix :table :java :run :reduce :into :to-edn :to-json})

(def rows
  "What each function that returns rows takes."
  (conj folds :key-fn :timeout-ms))

(def execute (conj rows :params :binary?))
(def stream #{:params :key-fn :timeout-ms :binary? :fetch-size})
(def write #{:params :timeout-ms :binary?})
(def body (conj write :as))
(def copy #{:timeout-ms})
(def copy-rows (conj copy :types :format))
(def copy-maps (conj copy-rows :keys))
(def copy-out-rows (conj rows :format))
(def begin #{:isolation :read-only? :deferrable?})
(def transaction (conj begin :rollback?))
