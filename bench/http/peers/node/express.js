// The Express peer: pages by EJS, whose templates it compiles once in production.
import express from 'express'
import { fortunes } from './database.js'

const app = express()
app.set('views', new URL('views', import.meta.url).pathname)
app.set('view engine', 'ejs')
// What it would compute of each answer, and no other system does.
app.disable('etag')
app.disable('x-powered-by')

app.get('/fortunes', async (request, response) => {
  const { rows } = await fortunes()
  rows.push({ id: 0, message: 'Additional fortune added at request time.' })
  rows.sort((one, other) => (one.message < other.message ? -1 : 1))
  response.render('fortunes', { fortunes: rows })
})

app.listen(Number(process.env.PORT), '127.0.0.1')
