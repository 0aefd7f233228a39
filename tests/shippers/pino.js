// Sends one log line for each argument through pino-socket: node pino.js PORT TEXT...
import pino from 'pino'

const [port, ...texts] = process.argv.slice(2)
const transport = pino.transport({
  target: 'pino-socket',
  options: { address: '127.0.0.1', port: Number(port), mode: 'tcp' }
})
// The keys of the queue's columns: the text is bip, the process is userid; level and time are nobody's columns.
const logger = pino({ messageKey: 'bip', base: { userid: process.pid, user: 'pino' } }, transport)

transport.on('ready', () => {
  texts.forEach((text) => logger.info(text))
  transport.end()
})
