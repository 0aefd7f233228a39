//! What an SQLSTATE means: one table, for whoever answers an error, blames somebody for it, or may try again.

/// Another try of the same may succeed: others were in the way, the server was short of something, or it was cancelled.
const PASSES: u16 = 1;
/// It comes of circumstances, not of what was asked: what cannot be planned because of it can be some other time.
const CIRCUMSTANCES: u16 = 1 << 1;
/// It would come whatever the values are: of the connection, the transaction, the server's means or state.
const SERVER: u16 = 1 << 2;
/// A plan that was kept while others changed tables and functions may have caused it.
const CATALOGS: u16 = 1 << 3;
/// Where a text is converted to a type the text may have caused it: a bad value, a name that does not exist (regclass),
/// syntax (tsquery, jsonpath), nesting (json).
const TEXT: u16 = 1 << 4;
/// A row that is stored has caused it, and nothing but another row would do.
const ROW: u16 = 1 << 5;
/// It may come of how a gateway runs requests: out of time, no write, no lock, no second try; and of a right that is missing, as
/// an executor has a transaction to find the grant in.
const GATEWAY: u16 = 1 << 6;
/// It stays until somebody changes something: a thing or a right is missing, an epoch is over, numbers have a gap.
const LASTS: u16 = 1 << 7;

/// Whether the message is for everybody.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tells {
    Yes,
    /// It may quote what a handler has read. The message about a client's own value quotes what the client has sent, and is
    /// told where that is converted.
    No,
}
use Tells::{No, Yes};

/// A code or the beginning of codes; the first that fits counts. The classes are those of PostgreSQL's appendix A.
type Row = (&'static str, u16, Tells, u16);

#[rustfmt::skip]
const TABLE: [Row; 33] = [
    // no data
    ("02000", 404, Yes, 0),
    // connection exception
    ("08",    500, No,  SERVER),
    // feature not supported
    ("0A000", 500, No,  CATALOGS | TEXT | LASTS),
    ("0A",    500, No,  LASTS),
    // cardinality violation
    ("21",    500, No,  ROW),
    // data exception
    ("22",    400, No,  TEXT | ROW),
    // integrity constraint violation
    ("23502", 400, Yes, TEXT | ROW),
    ("23514", 400, Yes, TEXT | ROW),
    ("23505", 409, Yes, ROW),
    ("23503", 409, Yes, ROW),
    ("23P01", 409, Yes, ROW),
    ("23",    500, No,  ROW),
    // invalid transaction state: a write where nobody can write; see `Meaning::status`
    ("25006", 500, No,  SERVER | GATEWAY),
    ("25",    500, No,  SERVER),
    // invalid authorization specification
    ("28",    500, No,  LASTS),
    // transaction rollback
    ("40001", 503, No,  SERVER | PASSES | CIRCUMSTANCES | GATEWAY),
    ("40P01", 503, No,  SERVER | PASSES | CIRCUMSTANCES | GATEWAY),
    ("40",    500, No,  SERVER | PASSES | CIRCUMSTANCES),
    // syntax error or access rule violation
    ("42501", 403, No,  GATEWAY | LASTS),
    ("42",    500, No,  CATALOGS | TEXT | LASTS),
    // WITH CHECK OPTION violation
    ("44",    500, No,  ROW),
    // insufficient resources
    ("53",    503, No,  SERVER | PASSES | CIRCUMSTANCES),
    // program limit exceeded
    ("54000", 500, No,  TEXT | ROW),
    ("54",    500, No,  TEXT),
    // object not in prerequisite state
    ("55P03", 503, No,  SERVER | PASSES | CIRCUMSTANCES | GATEWAY),
    ("55000", 500, No,  SERVER | CIRCUMSTANCES | LASTS),
    ("55",    500, No,  SERVER | CIRCUMSTANCES),
    // operator intervention
    ("57014", 504, No,  SERVER | PASSES | CIRCUMSTANCES | GATEWAY),
    ("57",    500, No,  SERVER | PASSES | CIRCUMSTANCES),
    // system error
    ("58",    500, No,  SERVER | PASSES | CIRCUMSTANCES),
    // PL/pgSQL: raise exception
    ("P0001", 400, Yes, ROW),
    ("P0",    500, No,  ROW),
    // internal error
    ("XX000", 500, No,  CATALOGS),
];

/// What an SQLSTATE means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meaning {
    sqlstate: [u8; 5],
    status: u16,
    tells: bool,
    is: u16,
}

impl Meaning {
    /// What this SQLSTATE means. It neither allocates nor raises.
    pub fn of(sqlstate: &[u8; 5]) -> Meaning {
        let row = TABLE.iter().find(|(code, ..)| sqlstate.starts_with(code.as_bytes()));
        let (status, tells, is) = match row {
            Some((_, status, tells, is)) => (*status, *tells == Yes, *is),
            None => chosen_status(sqlstate).map_or((500, false, 0), |status| (status, true, 0)),
        };
        Meaning { sqlstate: *sqlstate, status, tells, is }
    }

    /// The status of the answer. On a standby nobody can write: there another server may, and it is 503.
    pub fn status(self, is_standby: bool) -> u16 {
        if is_standby && self.is_write_where_none_may() { 503 } else { self.status }
    }

    /// Whether its message is for everybody.
    pub fn tells(self) -> bool {
        self.tells
    }

    /// Whether something was to be written in a transaction that only reads.
    pub fn is_write_where_none_may(self) -> bool {
        self.sqlstate == *b"25006"
    }

    /// Whether a client has caused it, rather than a handler or the server.
    pub fn is_clients_fault(self) -> bool {
        self.is_write_where_none_may() || self.status < 500
    }

    /// Whether it is a text's fault that could not be converted to a type.
    pub fn is_texts_fault(self) -> bool {
        self.is & TEXT != 0
    }

    /// Whether it is a row's fault that could not be stored: nothing but another row would do.
    pub fn is_rows_fault(self) -> bool {
        self.is & ROW != 0
    }

    /// Whether it would come whatever the values are: it is of the connection, the transaction, the server's means or state.
    pub fn is_servers(self) -> bool {
        self.is & SERVER != 0
    }

    /// Whether it may be gone when the same is tried again.
    pub fn may_pass(self) -> bool {
        self.is & PASSES != 0
    }

    /// Whether it is of circumstances, and not of a statement that cannot be planned.
    pub fn is_of_circumstances(self) -> bool {
        self.is & CIRCUMSTANCES != 0
    }

    /// Whether a plan that was kept may have caused it.
    pub fn is_of_catalogs(self) -> bool {
        self.is & CATALOGS != 0
    }

    /// Whether it may come of how a gateway runs requests, so that an executor may succeed.
    pub fn may_differ_in_an_executor(self) -> bool {
        self.is & (GATEWAY | CATALOGS) != 0
    }

    /// Whether it stays until somebody changes something: what sends the same again need not wait for better times.
    pub fn lasts(self) -> bool {
        self.is & LASTS != 0
    }

    /// Whether it was cancelled, by its client, for its time or by somebody else.
    pub fn is_cancel(self) -> bool {
        self.sqlstate == *b"57014"
    }
}

/// `raise … using errcode = 'PT404'` chooses the status: PT and three digits from 200 to 599.
fn chosen_status(sqlstate: &[u8; 5]) -> Option<u16> {
    let digits = sqlstate.strip_prefix(b"PT")?;
    let status = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (200..=599).contains(&status).then_some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_hidden_by_one_before_it() {
        for (place, (code, ..)) in TABLE.iter().enumerate() {
            let hiding = TABLE[..place].iter().find(|(before, ..)| code.starts_with(before));
            assert_eq!(hiding.map(|row| row.0), None, "{code} is never found");
        }
    }

    #[test]
    fn every_row_is_a_code_or_a_class() {
        for (code, status, ..) in TABLE {
            assert!(matches!(code.len(), 2 | 5), "{code}");
            assert!(code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()), "{code}");
            assert!((400..=599).contains(&status), "{code}");
        }
    }

    #[test]
    fn what_is_of_circumstances_is_the_servers() {
        for (code, _, _, is) in TABLE {
            assert!(is & CIRCUMSTANCES == 0 || is & SERVER != 0, "{code}");
            assert!(is & PASSES == 0 || is & CIRCUMSTANCES != 0, "{code}");
            assert!(
                is & ROW == 0 || is & (SERVER | CATALOGS | LASTS) == 0,
                "{code} is of a row and of something else"
            );
        }
    }
}
