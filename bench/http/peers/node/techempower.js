// TechEmpower's tests with the plain http module.
import { createServer } from 'node:http'
import { allWorlds, fortunes, updateWorlds, world } from './database.js'

const WORLDS = 10_000
const randomId = () => 1 + Math.floor(Math.random() * WORLDS)

// How many rows somebody asks for, whatever they write: 1 to 500.
const count = (text) => Math.min(Math.max(parseInt(text, 10) || 1, 1), 500)

const oneWorld = async () => {
  const { rows } = await world(randomId())
  return { id: rows[0].id, randomNumber: rows[0].randomnumber }
}
const worlds = (text) => Promise.all(Array.from({ length: count(text) }, oneWorld))

const cached = new Map()
for (const { id, randomnumber } of (await allWorlds()).rows) cached.set(id, { id, randomNumber: randomnumber })

const updates = async (text) => {
  const changed = await worlds(text)
  for (const one of changed) one.randomNumber = randomId()
  await updateWorlds(changed.map((one) => one.id), changed.map((one) => one.randomNumber))
  return changed
}

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escape = (text) => text.replace(/[&<>"']/g, (character) => ENTITIES[character])

const fortunesPage = async () => {
  const { rows } = await fortunes()
  rows.push({ id: 0, message: 'Additional fortune added at request time.' })
  rows.sort((one, other) => (one.message < other.message ? -1 : 1))
  const lines = rows.map(({ id, message }) => `<tr><td>${id}</td><td>${escape(message)}</td></tr>`)
  return `<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>${lines.join('')}</table></body></html>`
}

const TESTS = {
  '/json': () => ({ message: 'Hello, World!' }),
  '/db': oneWorld,
  '/queries': (asked) => worlds(asked),
  '/updates': (asked) => updates(asked),
  '/cached-queries': (asked) => Array.from({ length: count(asked) }, () => cached.get(randomId())),
}

const answer = (response, type, body) =>
  response
    .writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body), Server: 'Node' })
    .end(body)

const route = async (request, response) => {
  const [path, query] = request.url.split('?', 2)
  if (path === '/plaintext') return answer(response, 'text/plain', 'Hello, World!')
  if (path === '/fortunes') return answer(response, 'text/html; charset=utf-8', await fortunesPage())
  const test = TESTS[path]
  if (!test) return response.writeHead(404).end()
  const asked = query?.split('=', 2)[1]
  answer(response, 'application/json', JSON.stringify(await test(asked)))
}

const server = createServer((request, response) => {
  route(request, response).catch((error) => {
    response.writeHead(500, { 'Content-Type': 'text/plain' }).end(error.message)
  })
})

server.listen(Number(process.env.PORT), '127.0.0.1')
