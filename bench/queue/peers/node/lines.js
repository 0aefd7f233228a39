// A stream of bytes, line by line.
import { StringDecoder } from 'node:string_decoder'
import { add, room } from './bucket.js'

// Puts all lines of a stream into the bucket; reads no faster than it empties.
export const addLines = async (stream) => {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  // The socket shall stay open after its end, until all is written.
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    const lines = (rest + decoder.write(chunk)).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      add(line)
      const wait = room()
      if (wait) await wait
    }
  }
  if (rest) add(rest)
}
