// The statements of the benchmark's pages, over what connection.js opens.
//
// A statement with a name is prepared once for each connection, as pg's documentation recommends.
import { connection } from './connection.js'

const query = (name, text) => (...values) => connection.query({ name, text, values })

export const userName = query('user_name', 'select name from users where handle = $1')

export const peopleAfter = query(
  'people_after',
  `select id, handle, name, email, age, score, active, created_at, bio
     from people where id > $1 order by id limit 20`
)

export const addMessage = query('add_message', 'insert into messages (author, body) values ($1, $2)')

export const fortunes = query('fortunes', 'select id, message from fortune')

export const world = query('world', 'select id, randomnumber from world where id = $1')

export const allWorlds = query('all_worlds', 'select id, randomnumber from world order by id')

export const updateWorlds = query(
  'update_worlds',
  `update world set randomnumber = new.rnum
     from (select * from unnest($1::int[], $2::int[]) as v(id, rnum) order by 1) as new
     where world.id = new.id`
)
