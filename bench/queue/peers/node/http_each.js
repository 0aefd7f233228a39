// A POST for each record, an INSERT each, answered when it is committed.
import { createServer } from 'node:http'
import { addRow, insert } from './rows.js'

const server = createServer(async (request, response) => {
  let body = ''
  request.setEncoding('utf8')
  for await (const part of request) body += part
  const values = []
  addRow(values, body)
  await insert(1, values)
  response.writeHead(204).end()
})

server.listen(Number(process.env.PORT), '127.0.0.1')
