//! Shippers: connections that bring lines into queues.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::platform::{Platform, free_port, wait_for};
use crate::queues::BIP;

/// A platform with a queue `bips` that takes lines on a port.
pub struct Intake {
    /// The platform.
    pub platform: Platform,
    /// The port for lines.
    pub lines: u16,
}

impl Intake {
    /// With some settings of the server, and arguments of `queue.listen` after the queue.
    pub fn with(settings: &[(&str, &str)], arguments: &str) -> Intake {
        let platform = Platform::with(settings);
        platform.sql(&format!("{BIP}; select queue.create('bips', row_type => 't_bip')"));
        let intake = Intake { platform, lines: free_port() };
        intake.listen(arguments);
        intake.wait_until_bound();
        intake
    }

    /// With the default settings.
    pub fn start() -> Intake {
        Intake::with(&[], "")
    }

    /// Listens, or changes how.
    pub fn listen(&self, arguments: &str) {
        let port = self.lines;
        self.platform.sql(&format!(
            "select queue.listen({port}, queue => 'bips', address => '127.0.0.1' {arguments})"
        ));
    }

    /// Waits until the port takes connections.
    pub fn wait_until_bound(&self) {
        wait_for("the port takes lines", || self.view("bound").is_some());
    }

    /// A column of `queue.listeners`.
    pub fn view(&self, column: &str) -> Option<String> {
        let port = self.lines;
        self.platform.value(&format!("select {column} from queue.listeners where port = {port}"))
    }

    /// How many rows the queue has.
    pub fn rows(&self) -> i64 {
        self.platform.value("select queue_length from queue.metrics('bips')").unwrap().parse().unwrap()
    }

    /// Takes all rows; their userids in order.
    pub fn take_all(&self) -> Vec<i64> {
        let mut session = self.platform.session();
        let query = "select userid from queue.take('bips', 1000000, null::t_bip)";
        let rows = session.query(query, &[]).expect("rows");
        let mut taken: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        taken.sort_unstable();
        taken
    }

    /// Waits until the queue has so many rows.
    pub fn wait_for_rows(&self, count: i64) {
        wait_for(&format!("{count} rows"), || self.rows() == count);
    }

    /// A connection to the port for lines.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.lines)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        stream.set_write_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        stream
    }

    /// Sends bytes by a plain connection and waits until the server closes it. What the server has written.
    pub fn pour(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // Who is refused cannot write all.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        if let Err(error) = stream.read_to_end(&mut answer) {
            let timed_out = error.kind() == std::io::ErrorKind::WouldBlock;
            assert!(!timed_out, "not closed: {:?}\n{}", self.view("error"), self.platform.log());
        }
        answer
    }

    /// Begins the acknowledged protocol.
    pub fn hello(&self, producer: &str, epoch: i32) -> Shipper {
        self.try_hello(json!({"producer": producer, "epoch": epoch, "v": 1})).expect("a hello")
    }

    /// Says hello with these fields; the line that came instead of an answer if it is refused.
    pub fn try_hello(&self, fields: Value) -> Result<Shipper, Value> {
        Shipper::greet(self.connect(), fields)
    }
}

/// A line of JSON of the row type that tests use.
pub fn bip(userid: i64) -> String {
    format!(
        "{{\"uuid\":\"00000000-0000-0000-0000-000000000001\",\"userid\":{userid},\"version\":1,\"timestamp_ms\":\"1580970914664\",\"bip\":\"bip {userid}\",\"user\":\"ada\"}}\n"
    )
}

/// Lines whose userid is from `first` to `last`.
pub fn bips(first: i64, last: i64) -> Vec<u8> {
    (first..=last).map(bip).collect::<String>().into_bytes()
}

/// A connection that speaks the acknowledged protocol.
pub struct Shipper {
    stream: BufReader<TcpStream>,
    /// What the answer to the hello said.
    pub hello: Value,
}

impl Shipper {
    /// Says hello.
    pub fn greet(mut stream: TcpStream, fields: Value) -> Result<Shipper, Value> {
        let line = format!("{}\n", json!({ "$hello": fields }));
        stream.write_all(line.as_bytes()).map_err(|error| json!(error.to_string()))?;
        let mut shipper = Shipper { stream: BufReader::new(stream), hello: Value::Null };
        let answer = shipper.try_read().map_err(|error| json!(error.to_string()))?.ok_or(Value::Null)?;
        if answer["$hello"].is_null() {
            return Err(answer);
        }
        shipper.hello = answer["$hello"].clone();
        Ok(shipper)
    }

    /// The last sequence number that the server had.
    pub fn sequence(&self) -> i64 {
        self.hello["sequence"].as_i64().expect("a sequence number")
    }

    /// Sends bytes; false if the connection is broken.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    /// Sends no more.
    pub fn finish(&mut self) {
        let _ = self.stream.get_mut().shutdown(Shutdown::Write);
    }

    /// The next line of the server; none when it has closed the connection.
    pub fn read(&mut self) -> Option<Value> {
        self.try_read().ok()?
    }

    fn try_read(&mut self) -> io::Result<Option<Value>> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line.ends_with('\n').then(|| serde_json::from_str(&line).expect("a line of JSON")))
    }

    /// Reads until this line is acknowledged; what came before, acknowledgements aside.
    pub fn wait_for_ack(&mut self, sequence: i64) -> Vec<Value> {
        let mut before = Vec::new();
        loop {
            let line = self.read().unwrap_or_else(|| panic!("no ack of {sequence}, but {before:?}"));
            if line["$ack"].as_i64().is_some_and(|ack| ack >= sequence) {
                return before;
            }
            if line["$ack"].is_null() {
                before.push(line);
            }
        }
    }

    /// The socket.
    pub fn socket(&self) -> &TcpStream {
        self.stream.get_ref()
    }
}
