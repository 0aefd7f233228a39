// The statements of the benchmark's pages, over a pool of ten connections.
//
// pg reads PGHOST, PGPORT, PGUSER and PGDATABASE itself; a PGHOST that begins with a slash is the folder of a UNIX
// socket. A statement with a name is prepared once for each connection, as pg's documentation recommends.
import pg from 'pg'

const pool = new pg.Pool({ max: 10 })

const query = (name, text) => (...values) => pool.query({ name, text, values })

export const userName = query('user_name', 'select name from users where handle = $1')

export const peopleAfter = query(
  'people_after',
  `select id, handle, name, email, age, score, active, created_at, bio
     from people where id > $1 order by id limit 20`
)

export const addMessage = query('add_message', 'insert into messages (author, body) values ($1, $2)')
