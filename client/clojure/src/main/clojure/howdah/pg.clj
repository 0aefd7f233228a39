(ns howdah.pg
  "PostgreSQL for Clojure: rows are maps whose values are decoded when they are read.

      (require '[howdah.pg :as pg])

      (pg/with-connection [conn {:host \"127.0.0.1\" :user \"app\" :database \"app\"}]
        (pg/execute conn \"select id, email from users where id > $1\" {:params [100]}))
      ;=> [{:id 101 :email \"...\"} ...]

  Wherever a connection is taken, a source is too: a Connection, a Pool, a map of settings, or a URI. A pool
  lends a connection for the length of the call; a map or a URI opens one.

  Options are given as a map or as keywords: (pg/execute conn sql {:params [1]}) and
  (pg/execute conn sql :params [1]) are the same. One that a function does not know is an error. The options of a
  query:

  | option      | meaning                                                                       |
  |-------------|-------------------------------------------------------------------------------|
  | :params     | the values of $1, $2 and so on                                                |
  | :key-fn     | makes a key of a column's name; keyword                                       |
  | :timeout-ms | cancel the query after this long                                              |
  | :binary?    | false has all values travel as text                                           |
  | :fetch-size | how many rows reduce-rows fetches at a time                                    |
  | :first      | true returns the first row or nil; :first? is the same                        |
  | :as         | a fold of howdah.pg.fold that makes the result of the rows                    |
  | :map, :index-by, :group-by, :kv, :column, :columns, :matrix, :table, :java, :run, :reduce, :into, :to-edn, :to-json | short for a fold |

  Columns of one name: the first has the key, the second gets _1 behind it, the third _2.

  A row is a persistent map. Changes to it (assoc, dissoc, merge, update) are an overlay that decodes
  nothing; select-keys decodes what it selects. Rows stay readable when the connection is closed and are
  safe to share between threads."
  (:require [howdah.pg.fold :as fold]
            [howdah.pg.options :as options])
  (:import (dev.howdah.pg Config Config$Builder Connection CopyFormat Cursor Listener Notification Options Pool Pool$Settings
                          Result Row ServerMessage TransactionOptions TransactionOptions$Isolation)
           (dev.howdah.pg.clojure RowMaps RowOverlay RowVector)
           (dev.howdah.pg.types PgArray TypeOptions)
           (java.io InputStream OutputStream)
           (java.time Duration)
           (java.util List)
           (java.util.function Consumer Function)))

(set! *warn-on-reflection* true)

(defn ^:private vectored
  "An array of the server as vectors within vectors."
  [^PgArray array]
  (mapv #(if (instance? PgArray %) (vectored %) %) array))

(defn ^:private as-function ^Function [f]
  (reify Function (apply [_ x] (f x))))

(defn ^:private type-options
  "Arrays become vectors. :json-read gets a String of JSON and makes a value; :json-write makes a String."
  [{:keys [json-read json-write codecs]}]
  (TypeOptions. (or codecs {})
                (when json-read (as-function #(json-read (String. ^bytes % "UTF-8"))))
                (when json-write (as-function #(.getBytes ^String (json-write %) "UTF-8")))
                (as-function vectored)))

(def ^:private own-settings #{:json-read :json-write :codecs :notice-fn :pool-size :pool-wait-ms :pool-max-lifetime-ms
                              :pool-check-after-ms :pool-leak-ms :pool-leak-fn})

(defn ^:private builder ^Config$Builder [source]
  (if (map? source)
    (let [builder (Config/builder)]
      (doseq [[k v] (apply dissoc source own-settings)]
        (.set builder (name k) v))
      builder)
    (.toBuilder (Config/parse source))))

(defn ^:private message-fields
  "Every field of an error or a notice by name."
  [^ServerMessage message]
  (into {} (remove (fn [[_ value]] (or (nil? value) (= 0 value))))
        {:severity (.severity message) :sqlstate (.sqlState message) :message (.message message)
         :detail (.detail message) :hint (.hint message) :position (.position message)
         :internal-position (.internalPosition message) :internal-query (.internalQuery message)
         :where (.where message) :schema (.schema message) :table (.table message) :column (.column message)
         :datatype (.dataType message) :constraint (.constraint message) :file (.file message)
         :line (.line message) :function (.routine message)}))

(defn ^:private made-config ^Config [source]
  (let [own (if (map? source) source {})
        builder (.types (builder source) (type-options own))]
    (when-let [notice-fn (:notice-fn own)]
      (.notices builder (reify Consumer (accept [_ notice] (notice-fn (message-fields notice))))))
    (.build builder)))

(defn config
  "The configuration of a source: a map, a URI, or that of a connection or a pool. The map's keys are libpq's names
  or these, with hyphens or underscores: :host :hostaddr :port :user :password :database :sslmode :sslrootcert :sslcert :sslkey
  :channel-binding :connect-timeout :application-name :options :target-session-attrs :passfile :query-timeout
  :cancel-timeout :statement-cache-size :statement-cache-bytes :max-message-bytes :max-scram-iterations :allow-cleartext-password. And:
  :json-read and :json-write, functions between a String of JSON and a value; :codecs, a map of type name to Codec;
  :notice-fn, called with the fields of each notice, such as {:severity \"NOTICE\" :sqlstate \"00000\" :message \"...\"}."
  ^Config [source]
  (condp instance? source
    Config source
    Connection (.config ^Connection source)
    Pool (.config ^Pool source)
    String (made-config source)
    java.util.Map (made-config source)
    (throw (IllegalArgumentException.
            (str "a source is a connection, a pool, a map of settings or a URI, not " (pr-str (class source)))))))

(defn connect
  "Opens a connection to what a map of settings or a URI names. Close it, or use with-connection."
  ^Connection [source]
  (Connection/open (config source)))

(defn close
  "Closes a connection or a pool, or ends a listener. A connection that a pool has lent is given back."
  [source]
  (.close ^java.lang.AutoCloseable source))

(defn closed?
  "Whether the connection is closed or broken."
  [^Connection conn]
  (not (.isOpen conn)))

(defn pool
  "A pool of connections. Beside the settings of a connection: :pool-size (10), :pool-wait-ms (30000) for
  which a borrower waits, :pool-max-lifetime-ms (an hour), :pool-check-after-ms (5000) unused after which a
  connection is checked, :pool-leak-ms after which a loan is reported to :pool-leak-fn when somebody borrows, or has
  waited in vain."
  ^Pool [source]
  (let [{:keys [pool-size pool-wait-ms pool-max-lifetime-ms pool-check-after-ms pool-leak-ms pool-leak-fn]}
        (when (map? source) source)]
    (Pool. (config source)
           (cond-> Pool$Settings/DEFAULT
             pool-size (.size (int pool-size))
             pool-wait-ms (.waitLimit (Duration/ofMillis pool-wait-ms))
             pool-max-lifetime-ms (.maxLifetime (Duration/ofMillis pool-max-lifetime-ms))
             pool-check-after-ms (.checkAfter (Duration/ofMillis pool-check-after-ms))
             pool-leak-ms (.leaks (Duration/ofMillis pool-leak-ms)
                                  (reify Consumer (accept [_ leak] (when pool-leak-fn (pool-leak-fn leak)))))))))

(defn on-connection*
  "Calls a function with a connection of the source; what was opened or lent for it ends with it."
  [source f]
  (cond
    (instance? Connection source) (f source)
    (instance? Pool source) (with-open [conn (.borrow ^Pool source)]
                              (f conn))
    :else (with-open [conn (connect source)]
            (f conn))))

(defmacro with-connection
  "Runs the body with a connection of the source: (with-connection [conn source] ...)."
  [[conn source] & body]
  `(on-connection* ~source (fn [~(vary-meta conn assoc :tag `Connection)] ~@body)))

(defmacro with-pool
  "Runs the body with a pool that is closed afterwards: (with-pool [pool source] ...)."
  [[pool source] & body]
  `(with-open [~pool (pool ~source)] ~@body))

(def ^:private keyword-rows (RowMaps. keyword))

(defn ^:private row-maker ^RowMaps [key-fn]
  (if key-fn (RowMaps. key-fn) keyword-rows))

(defn ^:private options ^Options [{:keys [key-fn timeout-ms binary? fetch-size] :or {binary? true}}]
  (cond-> (.rows Options/DEFAULT (row-maker key-fn))
    timeout-ms (.timeout (Duration/ofMillis timeout-ms))
    (not binary?) (.binary false)
    fetch-size (.fetchSize (int fetch-size))))

(def ^:private plain-options (options {}))

(defn ^:private options-of ^Options [opts]
  (if (or (:key-fn opts) (:timeout-ms opts) (false? (:binary? opts)) (:fetch-size opts))
    (options opts)
    plain-options))

(defn ^:private params ^objects [{:keys [params]}]
  (when-not (or (nil? params) (sequential? params) (instance? List params) (.isArray (class params)))
    (throw (IllegalArgumentException. (str ":params must be sequential, such as [1 \"x\"], not " (pr-str params)))))
  (object-array params))

(defn ^:private text
  "SQL, which must be a String."
  ^String [sql]
  (when-not (string? sql)
    (throw (IllegalArgumentException.
            (str "SQL must be a String, not " (pr-str sql)
                 (when (and (vector? sql) (string? (first sql)))
                   (str "; the values of its $1, $2 and so on are an option: " (pr-str (first sql) {:params (vec (rest sql))})))))))
  sql)

(def ^:private counted-commands
  {"INSERT" :inserted "UPDATE" :updated "DELETE" :deleted "MERGE" :merged "COPY" :copied
   "SELECT" :selected})

(defn ^:private outcome
  "What a statement without rows did: {:inserted 1}, {:command \"CREATE TABLE\"}; {:selected 2} with create table … as."
  [^Result result]
  (let [tag (.tag result)
        command (first (re-seq #"[A-Z]+(?: [A-Z]+)*" tag))]
    (if-let [counted (counted-commands command)]
      {counted (.count result)}
      {:command command})))

(defn ^:private shaped [^Result result opts]
  (if-not (.hasRows result)
    (outcome result)
    (let [rows (RowVector. result nil)
          fold (fold/of-options opts)]
      (cond
        (nil? fold) rows
        ; No row tells its keys.
        (and (identical? fold fold/matrix) (empty? rows)) [(mapv (or (:key-fn opts) keyword) (.distinctNames (.shape result)))]
        :else (transduce identity fold rows)))))

(defn execute
  "Runs a statement. Returns its rows, a vector of maps, or what it did, such as {:updated 2}. Options: see
  the namespace."
  [source sql & {:as opts}]
  (options/check "execute" options/execute opts)
  (with-connection [conn source]
    (shaped (.query conn (options-of opts) (text sql) (params opts)) opts)))

(defn query
  "Runs SQL without parameters, which may be several statements. Returns the rows, or what it did, of the
  one, and a vector of these for several. Values travel as text. Options: :key-fn :timeout-ms and the folds."
  [source sql & {:as opts}]
  (options/check "query" options/rows opts)
  (with-connection [conn source]
    (let [results (mapv #(shaped % opts) (.script conn (options-of opts) (text sql)))]
      (if (= 1 (count results)) (first results) results))))

(defn ^:private streamed [f init source sql opts]
  (with-connection [conn source]
    (with-open [cursor (.cursor conn (options-of opts) (text sql) (params opts))]
      (loop [state init]
        (if (and (not (reduced? state)) (.hasNext ^Cursor cursor))
          (recur (f state (.next ^Cursor cursor)))
          (unreduced state))))))

(defn reduce-rows
  "Reduces the rows of a statement while they come, in memory that does not grow with their number:
  (reduce-rows f init source sql opts). f may end early by reduced; the server then stops too.
  Options: :params :key-fn :binary? :fetch-size, and :timeout-ms, the limit of each fetch."
  [f init source sql & {:as opts}]
  (options/check "reduce-rows" options/stream opts)
  (streamed f init source sql opts))

(defn transduce-rows
  "Like transduce over the rows of a statement while they come, completion included. Options: see reduce-rows."
  [xform f init source sql & {:as opts}]
  (options/check "transduce-rows" options/stream opts)
  (let [step (xform f)]
    (step (streamed step init source sql opts))))

(defn write-json
  "Writes the rows of a statement to an OutputStream as a JSON array of objects, straight from the wire: no
  map is made and no value decoded. Returns the number of rows. Options: :params :timeout-ms :binary?."
  [source ^OutputStream out sql & {:as opts}]
  (options/check "write-json" options/write opts)
  (with-connection [conn source]
    (.writeJson conn (options-of opts) out (text sql) (params opts))))

(defn json-bytes
  "The rows of a statement as a JSON array of objects, in UTF-8 and in memory, straight from the wire. Unlike
  write-json it goes beside the statements of other threads that share the connection. Options: :params :timeout-ms :binary?."
  ^bytes [source sql & {:as opts}]
  (options/check "json-bytes" options/write opts)
  (with-connection [conn source]
    (.json conn (options-of opts) (text sql) (params opts))))

(defn write-csv
  "Writes the rows of a statement to an OutputStream as CSV with a line of names, as COPY would. Returns the
  number of rows. Options: :params :timeout-ms :binary?."
  [source ^OutputStream out sql & {:as opts}]
  (options/check "write-csv" options/write opts)
  (with-connection [conn source]
    (.writeCsv conn (options-of opts) out (text sql) (params opts))))

(defn write-edn
  "Writes the rows of a statement to an OutputStream as an EDN vector of maps, straight from the wire: uuid as
  #uuid, timestamptz as #inst, json as data. Returns the number of rows. Options: :params :timeout-ms :binary?."
  [source ^OutputStream out sql & {:as opts}]
  (options/check "write-edn" options/write opts)
  (with-connection [conn source]
    (.writeEdn conn (options-of opts) out (text sql) (params opts))))

(defn detach
  "A row with bytes of its own, so that to keep it keeps no other row of its result in memory; of a row that was
  changed, too. What :first returns is one already. Any other map is returned as it is."
  [row]
  (cond
    (instance? Row row) (.detach ^Row row)
    (instance? RowOverlay row) (.detach ^RowOverlay row)
    :else row))

(defn edn
  "A row, or the rows that execute returned, as a String of EDN, see json."
  [x]
  (if (instance? RowVector x)
    (let [out (java.io.ByteArrayOutputStream.)]
      (.writeEdn (.result ^RowVector x) out)
      (.toString out "UTF-8"))
    (.toEdn ^Row x)))

(defn json
  "A row, or the rows that execute returned, as a String of JSON. Rows that were changed are no longer the
  server's bytes; write those with a JSON library."
  [x]
  (if (instance? RowVector x)
    (let [out (java.io.ByteArrayOutputStream.)]
      (.writeJson (.result ^RowVector x) out)
      (.toString out "UTF-8"))
    (.toJson ^Row x)))

(def ^:private isolations
  {:read-uncommitted TransactionOptions$Isolation/READ_UNCOMMITTED
   :read-committed TransactionOptions$Isolation/READ_COMMITTED
   :repeatable-read TransactionOptions$Isolation/REPEATABLE_READ
   :serializable TransactionOptions$Isolation/SERIALIZABLE})

(defn ^:private transaction-options ^TransactionOptions [{:keys [isolation read-only? deferrable? rollback?]}]
  (cond-> TransactionOptions/DEFAULT
    isolation (.isolation (or (isolations isolation)
                              (throw (IllegalArgumentException. (str ":isolation must be one of " (keys isolations))))))
    (some? read-only?) (.readOnly (boolean read-only?))
    deferrable? (.deferrable true)
    rollback? (.rollback true)))

(defn transact*
  "Calls a function with a connection in a transaction; see with-transaction."
  [source opts f]
  (options/check "with-transaction" options/transaction opts)
  (with-connection [conn source]
    (.transaction conn (transaction-options opts) (as-function f))))

(defmacro with-transaction
  "Runs the body in a transaction, which commits when it returns and rolls back when it throws. Inside
  another it is a savepoint. tx is for the thread of the body: another, of a future or pmap, is refused, as it would wait for
  the end of the body. (with-transaction [tx source opts] ...), with options :isolation
  (:read-committed :repeatable-read :serializable), :read-only?, :deferrable?, and :rollback?, which takes back what
  the body did though it returned."
  [[tx source opts] & body]
  `(transact* ~source ~opts (fn [~(vary-meta tx assoc :tag `Connection)] ~@body)))

(defn begin
  "Begins a transaction. Options: :isolation :read-only? :deferrable?."
  [^Connection conn & {:as opts}]
  (options/check "begin" options/begin opts)
  (.begin conn (transaction-options opts)))

(defn commit "Commits." [^Connection conn] (.commit conn))
(defn rollback "Rolls back." [^Connection conn] (.rollback conn))

(defn status
  "The state of a connection's transaction: :I idle, :T inside one, :E inside one that has failed."
  [^Connection conn]
  (cond (.transactionFailed conn) :E (.inTransaction conn) :T :else :I))

(defn cancel
  "Cancels what the connection runs, from any thread; never anything else. Returns whether something ran."
  [^Connection conn]
  (.cancel conn))

(defn copy-in
  "COPY ... FROM STDIN with the bytes of an InputStream. Returns {:copied n}. Option: :timeout-ms, which covers what
  the stream takes too and is looked at between its pieces."
  [source sql ^InputStream in & {:as opts}]
  (options/check "copy-in" options/copy opts)
  (with-connection [conn source]
    {:copied (.copyIn conn (options-of opts) (text sql) in)}))

(defn ^:private copy-format ^CopyFormat [format]
  (case (or format :binary)
    :binary CopyFormat/BINARY
    :text CopyFormat/TEXT
    :csv CopyFormat/CSV
    (throw (IllegalArgumentException. (str ":format must be one of :binary, :text and :csv, not " format)))))

(defn ^:private copied-in [source sql rows {:keys [types format] :as opts}]
  (with-connection [conn source]
    {:copied (.copyIn conn (options-of opts) (text sql) (copy-format format) ^List (mapv name types) ^Iterable rows)}))

(defn copy-in-rows
  "COPY ... FROM STDIN with rows of values. :types names the columns' types in order, :format is the one that
  the statement names, :binary (the default), :text or :csv:
  (copy-in-rows conn \"copy t (a, b) from stdin with (format binary)\" rows {:types [\"int\" \"text\"]}).
  And: :timeout-ms, as for copy-in."
  [source sql rows & {:as opts}]
  (options/check "copy-in-rows" options/copy-rows opts)
  (copied-in source sql rows opts))

(defn copy-in-maps
  "As copy-in-rows, with maps and the :keys of their values in the order of the columns."
  [source sql maps & {:keys [keys] :as opts}]
  (options/check "copy-in-maps" options/copy-maps opts)
  (copied-in source sql (map (fn [m] (mapv #(get m %) keys)) maps) opts))

(defn copy-out
  "COPY ... TO STDOUT into an OutputStream. Returns {:copied n}. Option: :timeout-ms."
  [source sql ^OutputStream out & {:as opts}]
  (options/check "copy-out" options/copy opts)
  (with-connection [conn source]
    {:copied (.copyOut conn (options-of opts) (text sql) out)}))

(def ^:private stop (ex-info "a fold has ended early" {}))

(defn ^:private copied-out
  "Feeds the rows of COPY to a fold, and throws stop where that ends early."
  [^Connection conn query opts fold state]
  (.copyOut conn (options-of opts) (copy-format (:format opts)) (text query)
            (reify Consumer
              (accept [_ row]
                (let [next (fold @state row)]
                  (vreset! state (unreduced next))
                  (when (reduced? next) (throw stop)))))))

(defn copy-out-rows
  "COPY (query) TO STDOUT as rows that are maps: a vector of them, or what a fold makes of them while they
  come, in memory that does not grow with their number. It costs the server less than a cursor; the query
  cannot have parameters. Options: :format is :binary (the default), :text or :csv; :key-fn, :timeout-ms, and
  the folds that execute takes. A fold that ends early cancels COPY in the server; a transaction around it goes on,
  because COPY runs in a savepoint there."
  [source query & {:as opts}]
  (options/check "copy-out-rows" options/copy-out-rows opts)
  (with-connection [conn source]
    (let [fold (or (fold/of-options opts) fold/default)
          state (volatile! (fold))
          copy #(copied-out % query opts fold state)]
      (try
        (if (.inTransaction conn)
          (.transaction conn (as-function copy))
          (copy conn))
        (catch clojure.lang.ExceptionInfo e
          (when-not (identical? e stop) (throw e))))
      (fold @state))))

(defn ^:private notification-handler ^Consumer [f]
  (reify Consumer
    (accept [_ n]
      (let [^Notification n n]
        (f {:channel (.channel n) :message (.payload n) :pid (.process n)})))))

(defn on-notification
  "Has a function called with {:channel :message :pid} for each notification that reaches the connection,
  on the thread that reads it."
  [^Connection conn f]
  (.onNotification conn (notification-handler f)))

(defn listener
  "Calls a function with {:channel :message :pid} for each notification of the channels as it comes, on a
  connection and a thread of its own. :on-end is called with the error if the connection breaks: what was sent
  while nobody listened is lost, so open another listener and look at the tables. Close it with close. Of a
  connection or a pool it takes the settings."
  [source channels f & {:keys [on-end] :as opts}]
  (options/check "listener" #{:on-end} opts)
  (Listener/open (config source) (mapv name channels) (notification-handler f)
                 (reify Consumer (accept [_ e] (when on-end (on-end e))))))

(defn listen "Listens to a channel." [^Connection conn channel] (.listen conn (name channel)))
(defn unlisten "Listens to a channel no more." [^Connection conn channel] (.unlisten conn (name channel)))

(defn notify
  "Notifies a channel."
  [source channel message]
  (execute source "select pg_notify($1, $2)" {:params [(name channel) message]})
  nil)

(defn await-notifications
  "Waits for notifications for at most so many milliseconds and hands on what has come."
  [^Connection conn ms]
  (.awaitNotifications conn (Duration/ofMillis ms)))

(defn error-fields
  "Every field of a server's error by name, and the statement as :sql, where it is known; nil for other errors. Those that it
  does not have are left out."
  [e]
  (when (instance? dev.howdah.pg.ServerException e)
    (let [sql (.sql ^dev.howdah.pg.ServerException e)]
      (cond-> (message-fields (.server ^dev.howdah.pg.ServerException e))
        sql (assoc :sql sql)))))
