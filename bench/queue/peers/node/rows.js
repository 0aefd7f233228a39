// Rows in PostgreSQL: a pool of connections, and INSERT with as many rows as there are.
//
// pg reads PGHOST, PGPORT, PGUSER and PGDATABASE itself; a PGHOST that begins with a slash is the folder of a UNIX
// socket.
import pg from 'pg'

const COLUMNS = ['uuid', 'userid', 'version', 'timestamp_ms', 'bip', 'user']

export const CONNECTIONS = Number(process.env.CONNECTIONS ?? 1)
const pool = new pg.Pool({ max: CONNECTIONS })

// Texts of the statements by their number of rows: that of a full bucket is needed again and again.
const statements = new Map()

const statement = (rows) => {
  const tuples = []
  for (let row = 0; row < rows; row++) {
    tuples.push(`(${COLUMNS.map((_, column) => `$${row * COLUMNS.length + column + 1}`).join(',')})`)
  }
  const names = COLUMNS.map((name) => `"${name}"`).join(', ')
  return { name: `insert_${rows}`, text: `insert into bips (${names}) values ${tuples.join(',')}` }
}

// A prepared statement for each number of rows that comes again, as pg's documentation recommends.
export const insert = (rows, values) => {
  if (!statements.has(rows)) statements.set(rows, statement(rows))
  return pool.query({ ...statements.get(rows), values })
}

// Appends a record's columns to the values of a statement.
export const addRow = (values, line) => {
  const { uuid, userid, version, timestamp_ms, bip, user } = JSON.parse(line)
  values.push(uuid, userid, version, timestamp_ms, bip, user)
}

export const WIDTH = COLUMNS.length
