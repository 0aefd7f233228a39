// Two processes of a Node peer behind one port, each with a pool of its own.
import cluster from 'node:cluster'

const WORKERS = 2

if (cluster.isPrimary) {
  for (let worker = 0; worker < WORKERS; worker++) cluster.fork()
  cluster.on('exit', () => process.exit(1))
} else {
  await import(process.env.SERVER ?? './server.js')
}
