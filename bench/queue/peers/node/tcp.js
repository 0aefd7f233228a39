// Lines over TCP into the bucket. When a client has no more, all is written and the connection closed.
import { createServer } from 'node:net'
import { written } from './bucket.js'
import { addLines } from './lines.js'

const server = createServer({ allowHalfOpen: true, highWaterMark: 1 << 20 }, async (socket) => {
  await addLines(socket)
  await written()
  socket.end()
})

server.listen(Number(process.env.PORT), '127.0.0.1')
