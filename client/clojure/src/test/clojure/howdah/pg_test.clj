(ns howdah.pg-test
  (:require [clojure.core.reducers :as r]
            [clojure.test :refer [deftest is testing use-fixtures]]
            [howdah.pg :as pg]
            [howdah.pg.fold :as fold])
  (:import (dev.howdah.pg PrivateServer)
           (dev.howdah.pg.clojure RowMap RowOverlay)
           (dev.howdah.pg.types Codec)
           (dev.howdah.pg.wire WireOutput)
           (java.io ByteArrayInputStream ByteArrayOutputStream)))

(set! *warn-on-reflection* true)

(def source
  {:host "127.0.0.1" :port (.port (PrivateServer/shared)) :user PrivateServer/USER :database "postgres"})

(def ^:dynamic ^dev.howdah.pg.Connection *conn* nil)

(use-fixtures :once
  (fn [tests]
    (pg/with-connection [conn source]
      (binding [*conn* conn] (tests)))))

(def three "select x as id, 'n' || x as name, x * 10 as ten from generate_series(1, $1::int) x")

(defn- row [] (first (pg/execute *conn* three {:params [1]})))

(deftest rows-are-maps
  (let [rows (pg/execute *conn* three :params [3])]
    (is (= [{:id 1 :name "n1" :ten 10} {:id 2 :name "n2" :ten 20} {:id 3 :name "n3" :ten 30}] rows))
    (is (= rows [{:id 1 :name "n1" :ten 10} {:id 2 :name "n2" :ten 20} {:id 3 :name "n3" :ten 30}]))
    (is (vector? rows))
    (is (= 3 (count rows)))
    (is (= "n2" (:name (rows 1)) (get-in rows [1 :name]) ((rows 1) :name)))
    (is (= :none (get (rows 0) :absent :none) ((rows 0) :absent :none)))
    (is (= [4 1] [(count (conj rows {})) (count (pop (pop rows)))]))
    (let [{:keys [id name]} (first rows)]
      (is (= [1 "n1"] [id name])))))

(deftest a-row-is-a-complete-map
  (let [row (row)
        plain {:id 1 :name "n1" :ten 10}]
    (is (instance? RowMap row))
    (is (map? row))
    (is (= plain row))
    (is (= row plain))
    (is (not= row (assoc plain :ten 11)))
    (is (not= (assoc plain :ten 11) row))
    (is (= (hash plain) (hash row)))
    (is (= (.hashCode ^Object plain) (.hashCode ^Object row)))
    (let [as-in-java {:id (int 1) :name "n1" :ten (int 10)}]
      (is (.equals ^Object as-in-java row))
      (is (.equals ^Object row as-in-java)))
    (is (= #{plain} #{row}))
    (is (= 1 ({plain 1} row)))
    (is (= [:id :name :ten] (keys row)))
    (is (= [1 "n1" 10] (vals row)))
    (is (= [[:id 1] [:name "n1"] [:ten 10]] (seq row)))
    (is (= [:ten 10] (find row :ten)))
    (is (nil? (find row :absent)))
    (is (= (pr-str plain) (pr-str row) (str row)))
    (is (= plain (into {} row) (reduce-kv assoc {} row) (merge {} row)))
    (is (= [:id 1] (reduce-kv (fn [_ k v] (reduced [k v])) nil row)))
    (is (= {} (empty row)))
    (is (= 11 (reduce + (remove string? (vals row)))))
    (is (thrown? clojure.lang.ArityException (row)))
    (is (= 1 (apply row [:id])))
    (is (= [1 1] (map row [:id :id])))
    (is (= plain (java.util.HashMap. ^java.util.Map row)))))

(defn- reads-of
  "What some threads read that do so at once."
  [threads f]
  (let [begin (java.util.concurrent.CountDownLatch. 1)
        reads (mapv (fn [_] (future (.await begin) (f))) (range threads))]
    (.countDown begin)
    (mapv deref reads)))

(deftest a-row-with-arrays-of-bytes-is-a-value
  (pg/query *conn* "drop type if exists sealed; create type sealed as (id int, seal bytea)")
  (let [sql "select 1 as id, '\\x0102'::bytea as b, array['\\x01'::bytea] as bs, row(1, '\\x01')::sealed as c, row('\\x01'::bytea) as r"]
    (doseq [options [{} {:binary? false}]]
      (let [row (first (pg/execute *conn* sql options))
            copied (into {} row)]
        (is (= (hash row) (hash row)))
        (is (= (.hashCode ^Object row) (.hashCode ^Object row)))
        (is (contains? #{row} row))
        (is (= [row] (distinct [row row])))
        (is (= {row 2} (frequencies [row row])))
        (is (= row copied))
        (is (= copied row))
        (is (= (hash copied) (hash row)))
        (is (= :found ({copied :found} row) ({row :found} copied)))
        (is (contains? #{(assoc row :x 1)} (assoc row :x 1)))
        (is (identical? (:b row) (val (find row :b))))
        (is (= [1 2] (vec (:b row))))
        (is (not (identical? (.getBytes ^dev.howdah.pg.Row row "b") (:b row))))))
    (testing "to threads that read it first at once"
      (let [rows (pg/execute *conn* (str sql " from generate_series(1, 300)"))]
        (dotimes [i 300]
          (is (= 1 (count (into #{} (map #(System/identityHashCode %)) (reads-of 3 #(:b (nth rows i)))))))
          (is (= 1 (count (set (reads-of 2 #(hash (nth rows i))))))))))))

(defn- calls-of
  "How often a key function was called that a connection meets in some executions of a statement."
  [executions key-fn]
  (let [calls (atom 0)
        counted (fn [name] (swap! calls inc) (key-fn name))]
    (dotimes [_ executions]
      (pg/execute *conn* three {:params [1] :key-fn counted}))
    @calls))

(deftest the-keys-of-a-statement-are-made-once-for-a-key-function
  ; The statement is kept from its second use on.
  (dotimes [_ 2] (pg/execute *conn* three {:params [1]}))
  (is (= 3 (calls-of 5 keyword))))

(deftest a-transaction-is-rolled-back-whatever-its-body-throws
  (doseq [thrown [(java.io.IOException. "no") (ex-info "no" {}) (AssertionError. "no")]]
    (is (identical? thrown (try (pg/with-transaction [tx *conn*] (throw thrown))
                                (catch Throwable caught caught))))
    (is (= :I (pg/status *conn*)))))

(deftest a-key-function-is-not-kept-for-ever
  (let [kept (java.lang.ref.WeakReference. (fn [name] (keyword name)))]
    (pg/execute *conn* three {:params [1] :key-fn (.get kept)})
    (pg/execute *conn* three {:params [1]})
    (is (loop [tries 200]
          (System/gc)
          (cond (nil? (.get kept)) true
                (zero? tries) false
                :else (recur (dec tries)))))))

(defn- decoded-columns
  "How many cells of a row were decoded: those that come out the same object twice were kept before."
  [^dev.howdah.pg.Row row]
  (let [cells (doto (.getDeclaredField dev.howdah.pg.Row "cells") (.setAccessible true))]
    (count (filter some? (.get cells row)))))

(deftest changes-are-an-overlay-that-decodes-nothing
  (let [row (row)]
    (testing "each change gives what it would give of an ordinary map, in the order of the columns"
      (doseq [change [#(assoc % :extra 42) #(assoc % :name "other") #(dissoc % :name) #(dissoc % :absent)
                      #(merge % {:a 1 :ten 2}) #(-> % (dissoc :id) (assoc :id 7)) #(-> % (assoc :x 1) (dissoc :x))
                      #(assoc % :a 1 :b 2 :c 3 :d 4 :e 5 :f 6 :g 7 :h 8 :i 9) #(conj % [:z 1]) #(with-meta % {:m 1})]]
        (let [plain {:id 1 :name "n1" :ten 10}
              changed (change row)]
          (is (zero? (decoded-columns row)))
          (is (= (change plain) (change (pg/execute *conn* three {:params [1] :first true}))))
          (is (= (count (change plain)) (count changed)))
          (is (= (set (keys (change plain))) (set (keys changed)))))))
    (is (zero? (decoded-columns row)))
    (let [changed (-> row (assoc :extra 42 :name "other") (dissoc :id))]
      (is (instance? RowOverlay changed))
      (is (= [:name :ten :extra] (keys changed)))
      (is (= {:name "other" :ten 10 :extra 42} changed))
      (is (= (hash {:name "other" :ten 10 :extra 42}) (hash changed)))
      (is (= {:name "other" :ten 11 :extra 42} (update changed :ten inc)))
      (is (= {:ten 10} (select-keys changed [:ten :id])))
      (is (= (pr-str {:name "other" :ten 10 :extra 42}) (pr-str changed))))
    (is (= {:m 1} (meta (with-meta row {:m 1})) (meta (assoc (with-meta row {:m 1}) :a 1))))
    (is (nil? (meta row)))))

(deftest rows-are-editable-in-bulk
  (let [row (row)
        change #(-> % transient (assoc! :extra 42) (assoc! :name "other") (dissoc! :id) (conj! [:z 1]) (conj! {:y 2}) (dissoc! :absent))
        plain {:id 1 :name "n1" :ten 10}]
    (is (instance? dev.howdah.pg.clojure.TransientRow (transient row)))
    (persistent! (change row))
    (is (zero? (decoded-columns row)))
    (is (= (persistent! (change plain)) (persistent! (change row))))
    (is (= [5 "other" nil :none] ((juxt count :name :id #(get % :id :none)) (change row))))
    (is (= (into plain {:a 1 :ten 3}) (into row {:a 1 :ten 3})))
    (is (= {:m 1} (meta (persistent! (transient (with-meta row {:m 1}))))))
    (is (= [:id :name :ten :extra] (keys (persistent! (assoc! (transient row) :extra 1)))))
    (let [done (transient row)]
      (persistent! done)
      (is (thrown? IllegalAccessError (assoc! done :a 1))))))

(deftest columns-of-one-name-are-numbered
  (is (= {:a 1 :a_1 2 :a_2 3} (pg/execute *conn* "select 1 as a, 2 as a, 3 as a" {:first true})))
  (is (= {"a" 1 "b" nil} (pg/execute *conn* "select 1 as a, null as b" {:first true :key-fn identity}))))

(deftest results-take-other-shapes
  (let [rows #(pg/execute *conn* three (assoc % :params [3]))]
    (is (= 1 (:id (rows {:first true}))))
    (is (= [1 2 3] (rows {:column :id})))
    (is (= [[1 10] [2 20] [3 30]] (rows {:columns [:id :ten]})))
    (is (= "n2" (get-in (rows {:index-by :id}) [2 :name])))
    (is (= {false 1 true 2} (update-vals (rows {:group-by (comp even? inc :id)}) count)))
    (is (= {1 "n1" 2 "n2" 3 "n3"} (rows {:kv [:id :name]})))
    (is (= [[:id :name :ten] [1 "n1" 10]] (take 2 (rows {:matrix true}))))
    (is (= 60 (rows {:reduce [(fn [sum row] (+ sum (:ten row))) 0]})))
    (is (= #{2 3} (rows {:into [(comp (map :id) (filter #(> % 1))) #{}]})))
    (is (= [2 3 4] (rows {:as (fold/map (comp inc :id))})))
    (is (= 3 (rows {:run identity})))
    (is (instance? java.util.HashMap (first (rows {:java true}))))))

(deftest the-folds-of-pg2-mean-what-they-mean-there
  (let [rows #(pg/execute *conn* "select * from (values (1, 2), (3, 4), (5, 6)) t (a, b)" %)
        plain [{:a 1 :b 2} {:a 3 :b 4} {:a 5 :b 6}]
        odd (comp (map :a) (filter #{1 5}) (map str))
        written (fn [write] (let [out (java.io.StringWriter.)] [(write out) (str out)]))
        seen (atom [])
        see #(swap! seen conj (:a %))]
    (doseq [[wanted & options] [[[1 3 5] {:column :a} {:as (fold/column :a)}]
                                [[[1 2] [3 4] [5 6]] {:columns [:a :b]} {:as (fold/columns [:a :b])}]
                                [[3 7 11] {:map #(+ (:a %) (:b %))} {:as (fold/map #(+ (:a %) (:b %)))}]
                                [plain {} {:as fold/default}]
                                [nil {:as fold/dummy}]
                                [{:a 1 :b 2} {:first true} {:first? true} {:as fold/first}]
                                [{1 {:a 1 :b 2} 3 {:a 3 :b 4} 5 {:a 5 :b 6}} {:index-by :a} {:as (fold/index-by :a)}]
                                [{true [{:a 5 :b 6}] false [{:a 1 :b 2} {:a 3 :b 4}]}
                                 {:group-by #(< 4 (:a %))} {:as (fold/group-by #(< 4 (:a %)))}]
                                [{1 2 3 4 5 6} {:kv [:a :b]} {:as (fold/kv :a :b)}]
                                [3 {:run see} {:as (fold/run see)}]
                                [[[:a :b] [1 2] [3 4] [5 6]] {:table true} {:as (fold/table)} {:matrix true} {:as fold/matrix}]
                                [plain {:java true} {:as fold/java}]
                                [9 {:reduce [(fn [sum row] (+ sum (:a row))) 0]} {:as (fold/reduce (fn [sum row] (+ sum (:a row))) 0)}]
                                [["1" "5"] {:into [odd]} {:into [odd []]} {:as (fold/into odd)}]
                                [#{:a "1" "5"} {:into [odd #{:a}]} {:as (fold/into odd #{:a})}]]
            option options]
      (is (= wanted (rows option)) (str option)))
    (is (= [1 3 5 1 3 5] @seen))
    (is (= [3 "[\n  {:a 1, :b 2}\n  {:a 3, :b 4}\n  {:a 5, :b 6}\n]\n"]
           (written #(rows {:to-edn %})) (written #(rows {:as (fold/to-edn %)}))))
    (is (= [3 "[\n  {\"a\":1,\"b\":2},\n  {\"a\":3,\"b\":4},\n  {\"a\":5,\"b\":6}\n]\n"]
           (written #(rows {:to-json %})) (written #(rows {:as (fold/to-json %)}))))
    (is (= [1 3 5] (rows {:key-fn identity :column "a"})))
    (is (= [[2] [4] [6]] (rows {:key-fn identity :columns ["b"]})))))

(deftest results-fold-in-parallel
  (let [rows (pg/execute *conn* three {:params [10000]})
        combined (atom 0)]
    (is (= 50005000 (r/fold 500 (fn ([] 0) ([a b] (swap! combined inc) (+ a b))) (fn [sum row] (+ sum (:id row))) rows)))
    (is (= 31 @combined) "its halves are halved until they have no more than 500 rows")))

(deftest results-reduce-transduce-and-fold
  (let [rows (pg/execute *conn* three {:params [10000]})]
    (is (= 50005000 (transduce (map :id) + rows) (r/fold + (r/map :id rows)) (reduce + (map :id rows))))
    (is (= 3 (reduce (fn [n row] (if (= 3 (:id row)) (reduced n) (inc n))) 1 rows)))
    (is (= 50005000 (pg/reduce-rows (fn [sum row] (+ sum (:id row))) 0 *conn* three {:params [10000]})))
    (is (= [[1 2] [3 4] [5]]
           (pg/transduce-rows (comp (map :id) (take 5) (partition-all 2)) conj [] *conn* "select generate_series(1, 10000000000) as id")))
    (is (= {:one 1} (pg/execute *conn* "select 1 as one" {:first true})))))

(deftest results-reduce-by-index
  (let [rows (pg/execute *conn* three {:params [3]})]
    (is (= (reduce-kv (fn [seen i row] (conj seen [i row])) [] (into [] rows))
           (reduce-kv (fn [seen i row] (conj seen [i row])) [] rows)))
    (is (= [1 2] (reduce-kv (fn [_ i row] (when (= 1 i) (reduced [i (:id row)]))) nil rows)))))

(defn- alone?
  "Whether a row keeps no other row of its result in memory: such a one is not copied again."
  [row]
  (identical? row (pg/detach row)))

(deftest a-row-that-is-kept-keeps-no-other
  (let [rows (pg/execute *conn* three {:params [3]})
        changed (assoc (rows 1) :extra 1)]
    (is (not (alone? (rows 1))))
    (is (alone? (pg/detach (rows 1))))
    (is (= (rows 1) (pg/detach (rows 1))))
    (is (= changed (pg/detach changed)))
    (is (instance? RowOverlay (pg/detach changed)))
    (is (= {:a 1} (pg/detach {:a 1})))
    (is (alone? (pg/execute *conn* three {:params [3] :first true})))
    (is (alone? (pg/execute *conn* three {:params [3] :as fold/first})))))

(deftest statements-say-what-they-did
  (pg/query *conn* "drop table if exists did; create table did (a int, b jsonb)")
  (is (= {:inserted 2} (pg/execute *conn* "insert into did values (1, '{}'), ($1, null)" {:params [2]})))
  (is (= {:updated 2} (pg/execute *conn* "update did set a = a + 1")))
  (is (= {:deleted 1} (pg/execute *conn* "delete from did where a = 2")))
  (is (= [{:a 3}] (pg/execute *conn* "delete from did returning a")))
  (is (= {:selected 2} (pg/execute *conn* "create temp table chosen as select generate_series(1, 2)")))
  (is (= {:command "CREATE INDEX"} (pg/query *conn* "create index on did (a)")))
  (is (= [[{:a 1}] [{:b 2}]] (pg/query *conn* "select 1 as a; select 2 as b"))))

(deftest transactions-nest-and-roll-back
  (pg/query *conn* "drop table if exists moved_clj; create table moved_clj (a int)")
  (pg/with-transaction [tx *conn* {:isolation :serializable}]
    (pg/execute tx "insert into moved_clj values (1)")
    (is (= :T (pg/status tx)))
    (is (thrown? Exception
                 (pg/with-transaction [inner tx]
                   (pg/execute inner "insert into moved_clj values (2)")
                   (throw (ex-info "no" {}))))))
  (pg/with-transaction [tx *conn* {:rollback? true}]
    (pg/execute tx "insert into moved_clj values (3)"))
  (is (= [1] (pg/execute *conn* "select a from moved_clj" {:column :a})))
  (is (= :I (pg/status *conn*))))

(deftest a-transaction-is-of-the-kind-that-was-asked-for
  (let [kind #(pg/execute % "select current_setting('transaction_isolation') as isolation, current_setting('transaction_read_only') as read_only,
                               current_setting('transaction_deferrable') as deferrable" {:first true})]
    (doseq [[isolation shown] {:read-uncommitted "read uncommitted" :read-committed "read committed"
                               :repeatable-read "repeatable read" :serializable "serializable"}
            [chosen on] {true "on" false "off"}
            :let [options {:isolation isolation :read-only? chosen :deferrable? chosen}
                  wanted {:isolation shown :read_only on :deferrable on}]]
      (is (= wanted (pg/with-transaction [tx *conn* options] (kind tx))))
      (pg/begin *conn* options)
      (is (= wanted (kind *conn*)))
      (pg/rollback *conn*))
    (is (thrown-with-msg? IllegalArgumentException #":isolation must be one of" (pg/with-transaction [tx *conn* {:isolation :none}] tx)))))

(deftest a-transaction-that-is-to-be-rolled-back-nests-and-keeps-others-out
  (pg/query *conn* "drop table if exists undone; create table undone (a int)")
  (let [insert #(pg/execute %1 "insert into undone values ($1)" {:params [%2]})
        column #(pg/execute *conn* "select a from undone order by a" {:column :a})]
    (pg/with-transaction [tx *conn*]
      (insert tx 1)
      (is (= {:inserted 1} (pg/with-transaction [inner tx {:rollback? true}]
                             (insert inner 2))))
      (is (= :T (pg/status tx)))
      (is (thrown? Exception (pg/with-transaction [inner tx {:rollback? true}]
                               (pg/execute inner "select 1 / 0"))))
      (is (= [1] (column))))
    (is (= [1] (column)))
    (let [other (promise)]
      (pg/with-transaction [tx *conn* {:rollback? true}]
        (insert tx 3)
        (deliver other (future (insert *conn* 4)))
        (is (= :waits (deref @other 300 :waits))))
      (is (= {:inserted 1} @@other)))
    (is (= [1 4] (column)))))

(deftest every-kind-of-source-is-taken
  (let [uri (str "postgresql://" PrivateServer/USER "@127.0.0.1:" (:port source) "/postgres")]
    (is (= [{:one 1}] (pg/execute uri "select 1 as one") (pg/execute source "select 1 as one")))
    (pg/with-pool [pool (assoc source :pool-size 2)]
      (is (= [1 1 1 1] (pmap (fn [_] (:one (pg/execute pool "select 1 as one" {:first true}))) (range 4))))
      (pg/with-transaction [tx pool]
        (is (= :T (pg/status tx))))
      (let [lent (pg/with-connection [conn pool] conn)]
        (is (thrown-with-msg? dev.howdah.pg.PgException #"given back" (pg/execute lent "select 1")))
        (is (pg/closed? lent)))
      (let [idle (.idle pool)]
        (pg/with-connection [conn pool]
          (pg/close conn))
        (is (= idle (.idle pool)) "it was given back, not closed"))))
  (doseq [other [42 nil [:host "x"]]]
    (is (thrown-with-msg? IllegalArgumentException #"a source is" (pg/execute other "select 1")))))

(deftest json-is-read-and-written-by-the-users-functions
  (pg/with-connection [conn (assoc source :json-read read-string :json-write (comp #(.replace ^String % " " ",") pr-str :wrapped))]
    (is (= {:j [1 2]} (pg/execute conn "select '[1, 2]'::json as j" {:first true})))
    (is (= {:t "[1, 2]"} (pg/execute conn "select ($1::jsonb)::text as t" {:params [{:wrapped [1 2]}] :first true}))))
  (let [out (ByteArrayOutputStream.)]
    (is (= 2 (pg/write-json *conn* out three {:params [2]})))
    (is (= "[{\"id\":1,\"name\":\"n1\",\"ten\":10},{\"id\":2,\"name\":\"n2\",\"ten\":20}]" (.toString out)
           (pg/json (pg/execute *conn* three {:params [2]}))))
    (is (= "{\"id\":1,\"name\":\"n1\",\"ten\":10}" (pg/json (row))))))

(def ^:private colours
  "A codec of an enum whose values are keywords."
  (let [value #(keyword (String. ^bytes %1 (int %2) (int %3)))]
    (proxy [Codec] ["colour"]
      (decode [bytes offset length] (value bytes offset length))
      (parse ([text] (keyword text)) ([bytes offset length] (value bytes offset length)))
      (encode [value out] (.text ^WireOutput out (name value)))
      (text [bytes offset length out] (.bytes ^WireOutput out ^bytes bytes (int offset) (int length))))))

(deftest a-codec-of-the-users-own-reads-and-writes
  (pg/query *conn* "drop type if exists colour; create type colour as enum ('red', 'green')")
  (pg/with-connection [conn (assoc source :codecs {"colour" colours})]
    (doseq [options [{} {:binary? false}]]
      (is (= {:read :red :sent "green"}
             (pg/execute conn "select 'red'::colour as read, ($1::colour)::text as sent" (assoc options :params [:green] :first true)))))))

(deftest arrays-are-vectors
  (is (= {:a [1 nil 3] :b [["x"] ["y"]] :c []}
         (pg/execute *conn* "select array[1,null,3] as a, array[['x'],['y']] as b, '{}'::int[] as c" {:first true})))
  (is (= {:n 3} (pg/execute *conn* "select cardinality($1::text[]) as n" {:params [["a" "b" nil]] :first true}))))

(deftest copy-takes-bytes-rows-and-maps
  (pg/query *conn* "drop table if exists copied_clj; create table copied_clj (a int, b text)")
  (is (= {:copied 1} (pg/copy-in *conn* "copy copied_clj from stdin (format csv)" (ByteArrayInputStream. (.getBytes "1,x\n")))))
  (is (= {:copied 2} (pg/copy-in-rows *conn* "copy copied_clj from stdin (format binary)" [[2 "y"] [3 nil]] {:types ["int" "text"]})))
  (is (= {:copied 1} (pg/copy-in-maps *conn* "copy copied_clj from stdin (format binary)" [{:b "z" :a 4}]
                                      {:types ["int" "text"] :keys [:a :b]})))
  (let [out (ByteArrayOutputStream.)]
    (is (= {:copied 4} (pg/copy-out *conn* "copy copied_clj to stdout (format csv)" out)))
    (is (= "1,x\n2,y\n3,\n4,z\n" (.toString out))))
  (doseq [format [:binary :text :csv]]
    (is (= [{:a 1 :b "x"} {:a 2 :b "y"} {:a 3 :b nil} {:a 4 :b "z"}] (pg/copy-out-rows *conn* "select * from copied_clj where a < 9 order by a" {:format format})))
    (is (= {:copied 1} (pg/copy-in-maps *conn* (str "copy copied_clj from stdin (format " (name format) ")") [{:a 9 :b "tab\t"}]
                                        {:types ["int" "text"] :keys [:a :b] :format format}))))
  (is (= #{"tab\t"} (pg/copy-out-rows *conn* "select b from copied_clj where a = 9" {:into [(map :b) #{}]})))
  (is (= {:n 1} (pg/copy-out-rows *conn* "select generate_series(1, 10000000000) as n" {:first true})))
  (is (= 1 (count (pg/execute *conn* "select 1")))))

(deftest a-fold-of-copy-that-ends-early-leaves-its-transaction-in-order
  (pg/query *conn* "drop table if exists around; create table around (a int)")
  (pg/with-transaction [tx *conn*]
    (pg/execute tx "insert into around values (1)")
    (is (= {:n 1} (pg/copy-out-rows tx "select generate_series(1, 10000000000) as n" {:first true})))
    (is (= [{:n 1} {:n 2}] (pg/copy-out-rows tx "select generate_series(1, 2) as n")))
    (pg/execute tx "insert into around values (2)"))
  (is (= [1 2] (pg/execute *conn* "select a from around order by a" {:column :a}))))

(deftest notifications-arrive
  (let [seen (atom [])]
    (pg/on-notification *conn* #(swap! seen conj (dissoc % :pid)))
    (pg/listen *conn* :events)
    (pg/notify source :events "hello")
    (pg/await-notifications *conn* 20000)
    (is (= [{:channel "events" :message "hello"}] @seen))
    (pg/unlisten *conn* :events)))

(deftest a-listener-pushes-notifications
  (let [seen (java.util.concurrent.LinkedBlockingQueue.)
        hears (fn [source]
                (let [listener (pg/listener source [:pushed] #(.put seen %))]
                  (pg/notify source :pushed "hello")
                  (is (= "hello" (:message (.poll seen 30 java.util.concurrent.TimeUnit/SECONDS))))
                  (pg/close listener)))]
    (hears source)
    (hears *conn*)
    (pg/with-pool [pool (assoc source :pool-size 1)]
      (hears pool)))
  (let [ended (promise)
        listener (pg/listener (assoc source :application-name "listener-clj") [:pushed] identity {:on-end #(deliver ended %)})]
    (pg/execute *conn* "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listener-clj'")
    (is (instance? dev.howdah.pg.PgException (deref ended 30000 nil)))
    (pg/close listener)))

(defn- serialized [x]
  (let [bytes (ByteArrayOutputStream.)]
    (with-open [out (java.io.ObjectOutputStream. bytes)]
      (.writeObject out x))
    (with-open [in (java.io.ObjectInputStream. (ByteArrayInputStream. (.toByteArray bytes)))]
      (.readObject in))))

(deftest rows-are-serialized-as-ordinary-data
  (let [rows (pg/execute *conn* three {:params [2]})]
    (is (= rows (serialized rows)))
    (is (= (assoc (row) :extra 1) (serialized (assoc (row) :extra 1))))))

(deftest errors-have-fields
  (let [e (is (thrown? dev.howdah.pg.ServerException (pg/execute *conn* "select nonsense")))]
    (is (= "42703" (:sqlstate (pg/error-fields e))))
    (is (= 8 (:position (pg/error-fields e))))
    (is (not (contains? (pg/error-fields e) :internal-position))))
  (let [e (is (thrown? dev.howdah.pg.ServerException
                       (pg/query *conn* "do $$ begin execute 'select nonsense'; end $$")))]
    (is (= [8 "select nonsense"] ((juxt :internal-position :internal-query) (pg/error-fields e))))
    (is (not (contains? (pg/error-fields e) :position)))))

(deftest notices-have-fields
  (let [seen (atom [])]
    (pg/with-connection [conn (assoc source :notice-fn #(swap! seen conj %))]
      (pg/query conn "do $$ begin raise warning 'careful' using errcode = '01H01', hint = 'look'; end $$"))
    (is (= [{:severity "WARNING" :sqlstate "01H01" :message "careful" :hint "look"}]
           (map #(select-keys % [:severity :sqlstate :message :hint]) @seen)))))
