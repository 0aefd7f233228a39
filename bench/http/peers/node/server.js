// The Node peer: the pages of the benchmark with the plain http module, one handler for all.
import { createServer } from 'node:http'
import { parse } from 'node:querystring'
import { addMessage, peopleAfter, userName } from './database.js'

// With the length given, Node sends head and body in one write and not in chunks.
const answer = (response, status, type, body) =>
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body)

const notFound = (request, response) => {
  const [path, queryString = null] = request.url.split('?', 2)
  const body = JSON.stringify({ method: request.method, path, query_string: queryString })
  answer(response, 404, 'application/json', body)
}

const user = async (request, response, handle) => {
  const { rows } = await userName(handle)
  if (rows.length === 0) return notFound(request, response)
  answer(response, 200, 'text/html; charset=utf-8', `Hello, <b>${rows[0].name}</b>!`)
}

const people = async (response, after) => {
  const { rows } = await peopleAfter(after)
  answer(response, 200, 'application/json', JSON.stringify(rows))
}

const message = async (request, response) => {
  let form = ''
  request.setEncoding('utf8')
  for await (const part of request) form += part
  const { author, body } = parse(form)
  await addMessage(author, body)
  response.writeHead(204).end()
}

const route = async (request, response) => {
  const { method, url } = request
  if (method === 'GET' && url.startsWith('/users/')) return user(request, response, decodeURIComponent(url.slice(7)))
  if (method === 'GET' && url.startsWith('/people/')) return people(response, Number(url.slice(8)))
  if (method === 'POST' && url === '/messages') return message(request, response)
  return notFound(request, response)
}

const server = createServer((request, response) => {
  route(request, response).catch((error) => answer(response, 500, 'text/plain', error.message))
})

server.listen(Number(process.env.PORT), '127.0.0.1')
