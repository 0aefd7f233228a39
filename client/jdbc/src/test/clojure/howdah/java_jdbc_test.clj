(ns howdah.java-jdbc-test
  "clojure.java.jdbc on this driver, and the calls that next.jdbc makes of a driver."
  (:require [clojure.java.jdbc :as jdbc]
            [clojure.test :refer [deftest is use-fixtures]])
  (:import (dev.howdah.pg PrivateServer)
           (dev.howdah.pg.jdbc HowdahDataSource)
           (java.sql Connection PreparedStatement ResultSet ResultSetMetaData SQLException Statement Timestamp)
           (java.util UUID)))

(set! *warn-on-reflection* true)

(def spec
  {:connection-uri (str "jdbc:howdah://tester@127.0.0.1:" (.port (PrivateServer/shared)) "/postgres")})

(def parts
  {:dbtype "howdah" :classname "dev.howdah.pg.jdbc.HowdahDriver" :dbname "postgres" :host "127.0.0.1"
   :port (.port (PrivateServer/shared)) :user "tester" :application_name "from parts"})

(use-fixtures :each
  (fn [run]
    (jdbc/execute! spec ["drop table if exists fruit"])
    (jdbc/db-do-commands spec (jdbc/create-table-ddl :fruit [[:id :serial "primary key"] [:name "varchar(32)"] [:cost :int]
                                                             [:at :timestamptz "default now()"]]))
    (run)
    (jdbc/execute! spec ["drop table fruit"])))

(deftest queries-give-maps
  (is (= [{:a 1 :b "x"}] (jdbc/query spec ["select ?::int as a, ? as b" 1 "x"])))
  (is (= [{:application_name "from parts"}] (jdbc/query parts ["show application_name"])))
  (is (= [[:a] [1]] (jdbc/query spec ["select 1 as a"] {:as-arrays? true})))
  (is (instance? Timestamp (:now (first (jdbc/query spec ["select now()"])))))
  (let [id (UUID/randomUUID)]
    (is (= [{:id id}] (jdbc/query spec ["select ? as id" id]))))
  (is (= [{:n nil}] (jdbc/query spec ["select ?::int as n" nil])))
  (is (= 10 (jdbc/query spec ["select * from generate_series(1, 4) as x"] {:result-set-fn (fn [rows] (reduce + (map :x rows)))})))
  (is (= [{:name "a"}] (jdbc/with-db-connection [db spec]
                         (jdbc/insert! db :fruit {:name "a"})
                         (jdbc/find-by-keys db :fruit {:name "a"} {:row-fn #(select-keys % [:name])})))))

(deftest inserts-return-their-rows
  (let [[row] (jdbc/insert! spec :fruit {:name "Apple" :cost 59})]
    (is (= {:id 1 :name "Apple" :cost 59} (dissoc row :at))))
  (is (= [2 3] (map :id (jdbc/insert-multi! spec :fruit [{:name "Pear" :cost 1} {:name "Plum" :cost nil}]))))
  (is (= [1 1] (jdbc/insert-multi! spec :fruit [:name :cost] [["Fig" 3] ["Kiwi" 4]])))
  (is (= [1] (jdbc/update! spec :fruit {:cost 7} ["name = ?" "Fig"])))
  (is (= [2] (jdbc/delete! spec :fruit ["cost < ?" 5])))
  (is (= [1 1] (jdbc/execute! spec ["update fruit set cost = ? where name = ?" [1 "Apple"] [2 "Plum"]] {:multi? true}))))

(deftest transactions-commit-and-roll-back
  (jdbc/with-db-transaction [tx spec]
    (jdbc/insert! tx :fruit {:name "kept"}))
  (is (thrown? SQLException
        (jdbc/with-db-transaction [tx spec]
          (jdbc/insert! tx :fruit {:name "lost"})
          (jdbc/query tx ["select 1/0"]))))
  (jdbc/with-db-transaction [tx spec {:isolation :serializable :read-only? true}]
    (is (= [{:transaction_isolation "serializable"}] (jdbc/query tx ["show transaction_isolation"]))))
  (is (thrown? SQLException
        (jdbc/with-db-transaction [tx spec {:read-only? true}]
          (jdbc/insert! tx :fruit {:name "never"}))))
  (jdbc/with-db-transaction [tx spec]
    (jdbc/insert! tx :fruit {:name "also lost"})
    (jdbc/db-set-rollback-only! tx))
  (is (= ["kept"] (map :name (jdbc/query spec ["select name from fruit"]))))
  (is (= 5000 (jdbc/with-db-transaction [tx spec]
                (reduce (fn [n _] (inc n)) 0
                  (jdbc/reducible-query tx ["select x from generate_series(1, 5000) x"] {:fetch-size 100}))))))

(deftest metadata-is-read
  (is (= ["fruit"] (jdbc/with-db-metadata [data spec]
                     (jdbc/metadata-result (.getTables data nil "public" "fruit" (into-array String ["TABLE"])) {:row-fn :table_name})))))

;; next.jdbc asks the same of every driver: these are its calls, in its order.

(defn- rows
  "All results of a statement, rows as maps with keys qualified by their table, as next.jdbc builds them."
  [^PreparedStatement statement]
  (let [read (fn [^ResultSet result]
               (let [^ResultSetMetaData columns (.getMetaData result)
                     names (mapv (fn [^long i]
                                   (let [table (.getTableName columns i)]
                                     (keyword (when (seq table) table) (.getColumnLabel columns i))))
                             (range 1 (inc (.getColumnCount columns))))]
                 (loop [all []]
                   (if (.next result)
                     (recur (conj all (into {} (map-indexed (fn [^long i k] [k (.getObject result (inc i))]) names))))
                     all))))]
    (loop [more (.execute statement) all []]
      (let [count (.getUpdateCount statement)]
        (cond
          more (let [found (read (.getResultSet statement))]
                 (recur (.getMoreResults statement) (conj all found)))
          (not= -1 count) (let [keys (.getGeneratedKeys statement)
                                found (read keys)]
                            (recur (.getMoreResults statement) (conj all (if (seq found) found count))))
          :else all)))))

(deftest what-next-jdbc-does
  (let [source (doto (HowdahDataSource.) (.setUrl (:connection-uri spec)))]
    (with-open [^Connection con (.getConnection source)]
      (is (.isWrapperFor con Connection))
      (is (identical? con (.unwrap con Connection)))
      (with-open [statement (.prepareStatement con "insert into fruit (name) values (?)" Statement/RETURN_GENERATED_KEYS)]
        (.setObject statement 1 "Lime")
        (is (= "Lime" (-> (rows statement) ffirst :fruit/name))))
      (with-open [statement (.prepareStatement con "select id, name as label, 1 + 1 as two from fruit where name = ?")]
        (.setObject statement 1 "Lime")
        (is (= [[{:fruit/id 1 :fruit/label "Lime" :two 2}]] (rows statement))))
      (with-open [statement (.prepareStatement con "update fruit set cost = 1; select cost from fruit")]
        (is (= [1 [{:fruit/cost 1}]] (rows statement))))
      (with-open [statement (.prepareStatement con "insert into fruit (name) values (?)")]
        (doseq [name ["a" "b"]]
          (.setObject statement 1 name)
          (.addBatch statement))
        (is (= [1 1] (vec (.executeBatch statement)))))
      (let [level (.getTransactionIsolation con)]
        (.setTransactionIsolation con Connection/TRANSACTION_SERIALIZABLE)
        (.setReadOnly con true)
        (.setAutoCommit con false)
        (with-open [statement (.prepareStatement con "select count(*) from fruit"
                                ResultSet/TYPE_FORWARD_ONLY ResultSet/CONCUR_READ_ONLY)]
          (.setFetchSize statement 10)
          (is (= [[{:count 3}]] (rows statement))))
        (.commit con)
        (.setAutoCommit con true)
        (.setTransactionIsolation con level)
        (.setReadOnly con false))
      (with-open [statement (.createStatement con)]
        (is (= 3 (.executeUpdate statement "delete from fruit")))))))
