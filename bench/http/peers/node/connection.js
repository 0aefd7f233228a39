// A pool of ten connections, or with PIPELINE set one connection that sends queries without waiting in between.
//
// pg reads PGHOST, PGPORT, PGUSER and PGDATABASE itself; a PGHOST that begins with a slash is the folder of a UNIX
// socket. pg's pool cannot pipeline: it lends a connection to one query at a time.
import pg from 'pg'

const pipelined = async () => {
  const client = new pg.Client({ pipeline: true })
  await client.connect()
  return client
}

export const connection = process.env.PIPELINE ? await pipelined() : new pg.Pool({ max: 10 })
