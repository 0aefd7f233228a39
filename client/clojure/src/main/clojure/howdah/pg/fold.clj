(ns howdah.pg.fold
  "What a result becomes: folds over its rows. A fold is a reducing function of no, one and two arguments, as
  for transduce: the start, the completion and the step. Any such function of a user's own is a fold too.

      (pg/execute conn sql {:as (fold/index-by :id)})
      (pg/execute conn sql {:index-by :id})          ; the same"
  (:refer-clojure :exclude [first group-by into map reduce])
  (:require [clojure.string :as string])
  (:import (dev.howdah.pg Row)
           (java.io Writer)))

(set! *warn-on-reflection* true)

(def default
  "A vector of the rows."
  (fn ([] (transient [])) ([rows] (persistent! rows)) ([rows row] (conj! rows row))))

(defn map
  "A vector of what a function makes of each row."
  [f]
  (fn ([] (transient [])) ([rows] (persistent! rows)) ([rows row] (conj! rows (f row)))))

(def dummy
  "Nothing of the rows: nil."
  (fn ([] nil) ([_] nil) ([_ _] nil)))

(def first
  "The first row, with bytes of its own so that it keeps no other in memory, or nil."
  (fn ([] nil) ([row] row) ([_ row] (reduced (if (instance? Row row) (.detach ^Row row) row)))))

(defn index-by
  "A map of what a function makes of each row to the row."
  [f]
  (fn ([] (transient {})) ([m] (persistent! m)) ([m row] (assoc! m (f row) row))))

(defn group-by
  "A map of what a function makes of rows to the vector of those rows."
  [f]
  (fn ([] {}) ([m] m) ([m row] (update m (f row) (fnil conj []) row))))

(defn kv
  "A map of one function of each row to another."
  [key-fn value-fn]
  (fn ([] (transient {})) ([m] (persistent! m)) ([m row] (assoc! m (key-fn row) (value-fn row)))))

(defn column
  "A vector of the values of one column."
  [k]
  (map #(get % k)))

(defn columns
  "A vector of vectors of the values of some columns."
  [ks]
  (map (fn [row] (mapv #(get row %) ks))))

(def matrix
  "A vector whose first element is the keys and whose others are the values of each row."
  (fn ([] []) ([rows] rows) ([rows row] (conj (if (seq rows) rows [(vec (keys row))]) (vec (vals row))))))

(defn table
  "Another name of matrix, called without arguments."
  []
  matrix)

(def java
  "A java.util.ArrayList of java.util.HashMaps."
  (fn ([] (java.util.ArrayList.))
    ([rows] rows)
    ([^java.util.ArrayList rows ^java.util.Map row] (.add rows (java.util.HashMap. row)) rows)))

(defn run
  "Calls a function with each row, for its effect; the result is the number of rows."
  [f]
  (fn ([] 0) ([n] n) ([n row] (f row) (inc n))))

(defn reduce
  "As clojure.core/reduce with a start."
  [f init]
  (fn ([] init) ([state] state) ([state row] (f state row))))

(defn into
  "As clojure.core/into with a transducer; into a vector if nothing else is named."
  ([xform] (into xform []))
  ([xform to]
   (let [step (xform conj)]
     (fn ([] to) ([state] (step state)) ([state row] (step state row))))))

(defn ^:private written
  "Writes each row in a line of its own, between brackets; the number of rows."
  [^Writer writer separator text]
  (fn ([] (.write writer "[") 0)
    ([n] (.write writer "\n]\n") n)
    ([n row]
     (when (pos? n) (.write writer ^String separator))
     (.write writer "\n  ")
     (.write writer ^String (text row))
     (inc n))))

(defn to-edn
  "Writes the rows to a java.io.Writer as an EDN vector of maps, as howdah.pg/edn does; the number of rows. The writer
  stays open."
  [writer]
  (written writer "" (fn [^Row row] (.toEdn row))))

(defn to-json
  "Writes the rows to a java.io.Writer as a JSON array of objects, as howdah.pg/json does; the number of rows. The writer
  stays open."
  [writer]
  (written writer "," (fn [^Row row] (.toJson row))))

(def ^:private shapes
  "The options that each name a fold; of two that are the same, one name."
  {:as :as, :first :first, :first? :first, :map :map, :index-by :index-by, :group-by :group-by, :kv :kv, :column :column
   :columns :columns, :matrix :matrix, :table :matrix, :java :java, :run :run, :to-edn :to-edn, :to-json :to-json
   :reduce :reduce, :into :into})

(defn ^:private refuse-several [opts]
  (let [named (reduce-kv (fn [named option value]
                           (let [shape (when value (shapes option))]
                             (if (or (nil? shape) (some #{shape} named)) named (cons shape named))))
                         nil opts)]
    (when (next named)
      (throw (IllegalArgumentException.
              (str "only one of " (string/join " and " (sort named)) " can make the result of the rows"))))))

(defn ^:private of-first
  "What a fold that makes one thing of each row makes of the first, or nil."
  [fold]
  (fn ([] nil) ([made] made) ([_ row] (reduced (clojure.core/first (fold (fold (fold) row)))))))

(defn ^:private one-of-options [{:keys [as] :as opts}]
  (cond
    as as
    (or (:first opts) (:first? opts)) first
    (:map opts) (map (:map opts))
    (:index-by opts) (index-by (:index-by opts))
    (:group-by opts) (group-by (:group-by opts))
    (:kv opts) (apply kv (:kv opts))
    (:column opts) (column (:column opts))
    (:columns opts) (columns (:columns opts))
    (or (:matrix opts) (:table opts)) matrix
    (:java opts) java
    (:run opts) (run (:run opts))
    (:to-edn opts) (to-edn (:to-edn opts))
    (:to-json opts) (to-json (:to-json opts))
    (:reduce opts) (apply reduce (:reduce opts))
    (:into opts) (apply into (:into opts))))

(defn of-options
  "The fold that the options of a query name, or nil. :first may go with one of :map, :column and :columns; any other two are an
  error."
  [opts]
  (cond
    (nil? opts) nil
    (and (or (:first opts) (:first? opts)) (or (:map opts) (:column opts) (:columns opts)))
    (of-first (of-options (dissoc opts :first :first?)))
    :else (do (refuse-several opts) (one-of-options opts))))
