// Bodies of lines over HTTP into the bucket, answered when they are in it; GET / is answered when all is written.
import { createServer } from 'node:http'
import { written } from './bucket.js'
import { addLines } from './lines.js'

const server = createServer(async (request, response) => {
  if (request.method === 'POST') await addLines(request)
  else await written()
  response.writeHead(204).end()
})

server.listen(Number(process.env.PORT), '127.0.0.1')
