// One bucket for everybody, written as one INSERT when it is full or late, as published.
import { CONNECTIONS, WIDTH, addRow, insert } from './rows.js'

const ROWS = 10_000
const LATE_MS = 1_000

let values = []
let writing = 0
let timer = null
// Who waits until there is room, or until all is written.
let waiting = []

const write = async () => {
  clearTimeout(timer)
  timer = null
  const full = values
  values = []
  writing++
  try {
    await insert(full.length / WIDTH, full)
  } catch (error) {
    console.error(error)
    process.exit(1)
  }
  writing--
  settle()
}

const settle = () => {
  if (values.length >= ROWS * WIDTH && writing < CONNECTIONS) write()
  const resumed = waiting
  waiting = []
  for (const { ready, resume } of resumed) {
    if (ready()) resume()
    else waiting.push({ ready, resume })
  }
}

const until = (ready) => (ready() ? null : new Promise((resume) => waiting.push({ ready, resume })))

// Puts a line into the bucket.
export const add = (line) => {
  addRow(values, line)
  if (values.length >= ROWS * WIDTH && writing < CONNECTIONS) write()
  else timer ??= setTimeout(() => values.length > 0 && write(), LATE_MS)
}

// Null if the bucket takes more; a promise of that while all connections write and it is full.
export const room = () => until(() => values.length < ROWS * WIDTH)

// A promise that all is written.
export const written = async () => {
  if (values.length > 0) await write()
  await until(() => values.length === 0 && writing === 0)
}
